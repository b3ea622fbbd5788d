//! Known wrong answers to exercise 10.6.

use super::*;

pub const MISTAKES: &[Mistake<Lesson10>] = &[
    wrong!("10.6", prefers_data_parallelism, "The candidate with the fewest bytes is chosen; it is the first that fits.",
    choose: |w, m| {
        let all = spread(w, m, &PLAN);
        all[least(&all)]
    }),
    wrong!("10.6", prefers_data_parallelism, "The stages of ZeRO are tried from 3 down to 0; data parallelism is first.",
        choose: |w, m| planned(w, m, Plan { zero: |m| (PLAN.zero)(m).into_iter().rev().collect(), ..PLAN })),
    wrong!("10.6", prefers_data_parallelism, "The last candidate that fits is chosen; it is the first.",
    choose: |w, m| {
        let all = spread(w, m, &PLAN);
        all[all.iter().rposition(|c| c.fits).unwrap_or(least(&all))]
    }),
    wrong!("10.6", shares_states_next, "ZeRO is not among the candidates, or saves nothing: add the numbers of `bytes_per_rank` for its stage.",
        choose: |w, m| planned(w, m, Plan { zero: |_| vec![Stage::Zero0], ..PLAN })),
    wrong!("10.6", shares_states_next, "ZeRO is not among the candidates, or saves nothing: add the numbers of `bytes_per_rank` for its stage.",
        choose: |w, m| planned(w, m, Plan { model: |own, each, _, _| own * u64::from(each.total()), ..PLAN })),
    wrong!("10.6", prefers_data_parallelism, "Only the weights are counted; add all three numbers of `bytes_per_rank`.",
        choose: |w, m| planned(w, m, Plan { model: |own, each, stage, data| bytes_per_rank(own, each, stage, data)[0], ..PLAN })),
    wrong!("10.6", shares_states_next, "ZeRO 1 is not among the candidates.",
        choose: |w, m| planned(w, m, Plan { zero: |m| {
            let mut all = (PLAN.zero)(m);
            all.retain(|s| *s != Stage::Zero1);
            all
        }, ..PLAN })),
    wrong!("10.6", shares_states_next, "ZeRO 2 is not among the candidates.",
        choose: |w, m| planned(w, m, Plan { zero: |m| {
            let mut all = (PLAN.zero)(m);
            all.retain(|s| *s != Stage::Zero2);
            all
        }, ..PLAN })),
    wrong!("10.6", gathers_parameters_over_fast_links, "ZeRO 3 is a candidate over slow links, too: it needs one node, or links between nodes that are as fast as those inside.",
        choose: |w, m| planned(w, m, Plan { zero: |_| Stage::ALL.to_vec(), ..PLAN })),
    wrong!("10.6", gathers_parameters_over_fast_links, "ZeRO 3 is never a candidate.",
        choose: |w, m| planned(w, m, Plan { zero: |_| Stage::ALL[..3].to_vec(), ..PLAN })),
    wrong!("10.6", gathers_parameters_over_fast_links, "ZeRO 3 is a candidate on one node only; links between nodes may be as fast as those inside.",
        choose: |w, m| planned(w, m, Plan { zero: |m| Stage::ALL[..if m.nodes == 1 { 4 } else { 3 }].to_vec(), ..PLAN })),
    wrong!("10.6", gathers_parameters_over_fast_links, "Links that are equally fast are taken for slow: `between` is at least `inside`.",
        choose: |w, m| planned(w, m, Plan { zero: |m| Stage::ALL[..if m.nodes == 1 || m.between > m.inside { 4 } else { 3 }].to_vec(), ..PLAN })),
    wrong!("10.6", gathers_parameters_over_fast_links, "The links of a single node are compared; a single node has none to other nodes.",
        choose: |w, m| planned(w, m, Plan { zero: |m| Stage::ALL[..if m.between >= m.inside { 4 } else { 3 }].to_vec(), ..PLAN })),
    wrong!("10.6", splits_layers_inside_a_node, "Only powers of two are tried; each divisor of `ranks_per_node` is a candidate.",
        choose: |w, m| planned(w, m, Plan { tensor: |m| {
            let mut all = divisors(m.ranks_per_node);
            all.retain(|t| t.is_power_of_two());
            all
        }, ..PLAN })),
    wrong!("10.6", splits_layers_inside_a_node, "Each number up to `ranks_per_node` is tried; only its divisors use all ranks.",
        choose: |w, m| planned(w, m, Plan { tensor: |m| (2..=m.ranks_per_node).collect(), ..PLAN })),
    wrong!("10.6", splits_layers_inside_a_node, "The divisors descend, or only the whole node is tried; the smallest that fits is the simplest.",
        choose: |w, m| planned(w, m, Plan { tensor: |m| divisors(m.ranks_per_node).into_iter().rev().collect(), ..PLAN })),
    wrong!("10.6", splits_layers_inside_a_node, "`ranks_per_node` itself is not tried; it is one of its divisors.",
        choose: |w, m| planned(w, m, Plan { tensor: |m| {
            let mut all = divisors(m.ranks_per_node);
            all.pop();
            all
        }, ..PLAN })),
    wrong!("10.6", splits_layers_inside_a_node, "The divisors descend, or only the whole node is tried; the smallest that fits is the simplest.",
        choose: |w, m| planned(w, m, Plan { tensor: |m| divisors(m.ranks_per_node).pop().into_iter().collect(), ..PLAN })),
    wrong!("10.6", splits_layers_inside_a_node, "Tensor parallelism goes beyond a node: its links are too slow for that.",
        choose: |w, m| planned(w, m, Plan { tensor: |m| divisors(m.nodes * m.ranks_per_node), ..PLAN })),
    wrong!("10.6", splits_layers_inside_a_node, "The copies of a split model share the optimizer's state; these candidates have `Zero0`.",
    choose: |w, m| planned(w, m, Plan { split: Stage::Zero1, ..PLAN })),
    wrong!("10.6", splits_layers_inside_a_node, "Tensor parallelism without a pipeline is never tried.",
        choose: |w, m| planned(w, m, Plan { tensor: |_| Vec::new(), ..PLAN })),
    wrong!("10.6", makes_nodes_the_stages, "A pipeline is never tried.",
        choose: |w, m| planned(w, m, Plan { pipeline: |_, _| Vec::new(), ..PLAN })),
    wrong!("10.6", makes_nodes_the_stages, "The pipeline has `tensor` 1; inside a node, the layers are still split over all its ranks.",
        choose: |w, m| planned(w, m, Plan { pipeline: |w, m| stages(w, m.nodes).into_iter().map(|p| (1, p)).collect(), ..PLAN })),
    wrong!("10.6", makes_nodes_the_stages, "A pipeline is tried with each divisor of `ranks_per_node`, also 1; its candidates have `tensor` = `ranks_per_node`.",
        choose: |w, m| planned(w, m, Plan { pipeline: |w, m| {
            let tensors = [vec![1], divisors(m.ranks_per_node)].concat().into_iter();
            tensors.flat_map(|t| stages(w, m.nodes).into_iter().map(move |p| (t, p))).collect()
        }, ..PLAN })),
    wrong!("10.6", makes_nodes_the_stages, "Only all nodes are tried as stages; smaller divisors come first.",
        choose: |w, m| planned(w, m, Plan { pipeline: |w, m| stages(w, m.nodes).pop().map(|p| (m.ranks_per_node, p)).into_iter().collect(), ..PLAN })),
    wrong!("10.6", makes_nodes_the_stages, "Only powers of two are tried as stages; each divisor of `nodes` is a candidate.",
        choose: |w, m| planned(w, m, Plan { pipeline: |w, m| {
            let mut all = (PLAN.pipeline)(w, m);
            all.retain(|(_, p)| p.is_power_of_two());
            all
        }, ..PLAN })),
    wrong!("10.6", makes_nodes_the_stages, "The stages need not divide `nodes`; only its divisors are candidates.",
        choose: |w, m| planned(w, m, Plan { pipeline: |w, m| (2..=m.nodes.min(w.layers)).map(|p| (m.ranks_per_node, p)).collect(), ..PLAN })),
    wrong!("10.6", makes_nodes_the_stages, "The stages divide the number of all ranks; they are divisors of `nodes`.",
        choose: |w, m| planned(w, m, Plan { pipeline: |w, m| {
            let all = divisors(m.nodes * m.ranks_per_node).into_iter();
            all.filter(|p| *p <= m.nodes.min(w.layers)).map(|p| (m.ranks_per_node, p)).collect()
        }, ..PLAN })),
    wrong!("10.6", has_at_most_a_stage_a_layer, "There may be more stages than layers.",
        choose: |w, m| planned(w, m, Plan { pipeline: |_, m| divisors(m.nodes).into_iter().map(|p| (m.ranks_per_node, p)).collect(), ..PLAN })),
    wrong!("10.6", has_at_most_a_stage_a_layer, "There must be fewer stages than layers; as many are allowed.",
        choose: |w, m| planned(w, m, Plan { pipeline: |w, m| {
            let mut all = (PLAN.pipeline)(w, m);
            all.retain(|(_, p)| *p < w.layers);
            all
        }, ..PLAN })),
    wrong!("10.6", uses_all_ranks, "`data` is the number of all ranks; those of one copy share it: divide by tensor · pipeline.",
        choose: |w, m| planned(w, m, Plan { data: |ranks, _, _| ranks, ..PLAN })),
    wrong!("10.6", uses_all_ranks, "`data` is divided by `tensor` only; the stages of a pipeline share a copy, too.",
        choose: |w, m| planned(w, m, Plan { data: |ranks, t, _| ranks / t, ..PLAN })),
    wrong!("10.6", uses_all_ranks, "A split model has a single copy; the other ranks are not used.",
        choose: |w, m| planned(w, m, Plan { data: |ranks, t, p| if t * p > 1 { 1 } else { ranks }, ..PLAN })),
    wrong!("10.6", chooses_the_largest_micro_batch, "The micro-batch is always the whole share; a smaller one may fit.",
        choose: |w, m| planned(w, m, Plan { micro_batch: |_, _, share, p| if p > 1 { 1 } else { share }, ..PLAN })),
    wrong!("10.6", chooses_the_largest_micro_batch, "The micro-batch is always one sample; take the largest that fits.",
        choose: |w, m| planned(w, m, Plan { micro_batch: |_, _, _, _| 1, ..PLAN })),
    wrong!("10.6", chooses_the_largest_micro_batch, "The micro-batch may be larger than the share.",
        choose: |w, m| planned(w, m, Plan { micro_batch: |free, sample, _, p| if p > 1 { 1 } else { (free / sample).max(1) }, ..PLAN })),
    wrong!("10.6", shares_states_next, "If the model alone exceeds the memory, the subtraction underflows: use `saturating_sub`.",
    choose: |w, m| {
        let model = |c: &Choice| c.bytes - c.pipeline.min(c.micro_batches) * c.micro_batch * w.activations.div_ceil(c.tensor * c.pipeline);
        let small = |c: &Choice| c.pipeline == 1 && model(c) > m.memory;
        assert!(!spread(w, m, &PLAN).iter().any(small), "attempt to subtract with overflow");
        (REFERENCE.choose)(w, m)
    }),
    wrong!("10.6", shares_states_next, "If not even one sample fits, `micro_batch` is 0, and `micro_batches` is divided by it: it is at least 1.",
    choose: |w, m| {
        let none = |c: &Choice| c.pipeline == 1 && !c.fits;
        assert!(!spread(w, m, &PLAN).iter().any(none), "attempt to divide by zero");
        (REFERENCE.choose)(w, m)
    }),
    wrong!("10.6", prefers_data_parallelism, "The activations of one sample are counted; a micro-batch has those of all its samples.",
        choose: |w, m| planned(w, m, Plan { samples: |_| 1, ..PLAN })),
    wrong!("10.6", chooses_the_largest_micro_batch, "The share is the whole batch; the copies share it.",
        choose: |w, m| planned(w, m, Plan { share: |batch, _| batch, ..PLAN })),
    wrong!("10.6", counts_the_activations_of_a_pipeline, "A stage holds the activations of one micro-batch only; in 1F1B it holds up to `pipeline` of them.",
        choose: |w, m| planned(w, m, Plan { held: |_, _| 1, ..PLAN })),
    wrong!("10.6", counts_the_activations_of_a_pipeline, "A stage holds the activations of all micro-batches, as in GPipe; in 1F1B it holds at most `pipeline`.",
        choose: |w, m| planned(w, m, Plan { held: |p, m| if p > 1 { m } else { 1 }, ..PLAN })),
    wrong!("10.6", counts_the_activations_of_a_pipeline, "A stage holds `pipeline` micro-batches even if there are fewer.",
        choose: |w, m| planned(w, m, Plan { held: |p, _| p, ..PLAN })),
    wrong!("10.6", counts_the_activations_of_a_pipeline, "The micro-batch of a pipeline is the largest of which one fits beside the model; it is one sample.",
        choose: |w, m| planned(w, m, Plan { micro_batch: |free, sample, share, _| (free / sample).clamp(1, share), ..PLAN })),
    wrong!("10.6", gathers_parameters_over_fast_links, "With a pipeline, the micro-batch is the largest that fits; it is one sample.",
        choose: |w, m| planned(w, m, Plan { micro_batch: |free, sample, share, p| (free / (sample * p)).clamp(1, share), ..PLAN })),
    wrong!("10.6", splits_layers_inside_a_node, "The activations are not split; each rank keeps its part of them.",
        choose: |w, m| planned(w, m, Plan { activations: |n, _, _| n, ..PLAN })),
    wrong!("10.6", splits_layers_inside_a_node, "The parameters are not split; each rank keeps its part of them.",
        choose: |w, m| planned(w, m, Plan { parameters: |n, _, _| n, ..PLAN })),
    wrong!("10.6", makes_nodes_the_stages, "The parameters are divided by `tensor` only; the stages of a pipeline share them, too.",
        choose: |w, m| planned(w, m, Plan { parameters: |n, t, _| n.div_ceil(t), ..PLAN })),
    wrong!("10.6", makes_nodes_the_stages, "The activations are divided by `tensor` only; a stage keeps those of its own layers.",
        choose: |w, m| planned(w, m, Plan { activations: |n, t, _| n.div_ceil(t), ..PLAN })),
    wrong!("10.6", rounds_up, "The share is rounded down, so that some samples are lost.",
        choose: |w, m| planned(w, m, Plan { share: |batch, data| batch / data, ..PLAN })),
    wrong!("10.6", rounds_up, "The parameters of a rank are rounded down.",
        choose: |w, m| planned(w, m, Plan { parameters: |n, t, p| n / (t * p), ..PLAN })),
    wrong!("10.6", rounds_up, "The activations of a rank are rounded down.",
        choose: |w, m| planned(w, m, Plan { activations: |n, t, p| n / (t * p), ..PLAN })),
    wrong!("10.6", rounds_up, "The micro-batches are rounded down, so that some samples are lost.",
        choose: |w, m| planned(w, m, Plan { micro_batches: |share, micro| share / micro, ..PLAN })),
    wrong!("10.6", fills_the_memory_exactly, "What fills the memory exactly is taken for too much: it fits if it is at most the memory.",
        choose: |w, m| planned(w, m, Plan { fits: |bytes, memory| bytes < memory, ..PLAN })),
    wrong!("10.6", returns_the_smallest_if_none_fits, "If none fits, the last candidate is returned; return the one with the fewest bytes.",
        choose: |w, m| planned(w, m, Plan { none: |all| all.len() - 1, ..PLAN })),
    wrong!("10.6", returns_the_smallest_if_none_fits, "If none fits, data parallelism is returned; return the one with the fewest bytes.",
        choose: |w, m| planned(w, m, Plan { none: |_| 0, ..PLAN })),
    wrong!("10.6", returns_the_smallest_if_none_fits, "Of candidates with equally few bytes, the last is returned; return the first.",
        choose: |w, m| planned(w, m, Plan { none: |all| {
            (0..all.len()).rev().min_by_key(|&i| all[i].bytes).unwrap_or(0)
        }, ..PLAN })),
    wrong!("10.6", returns_the_smallest_if_none_fits, "If none fits, it panics; return the one with the fewest bytes.",
    choose: |w, m| {
        let all = spread(w, m, &PLAN);
        assert!(all.iter().any(|c| c.fits), "called `Option::unwrap()` on a `None` value");
        (REFERENCE.choose)(w, m)
    }),
    wrong!("10.6", returns_the_smallest_if_none_fits, "If none fits, `fits` is still true.",
    choose: |w, m| {
        let mut choice = (REFERENCE.choose)(w, m);
        choice.fits = true;
        choice
    }),
];
