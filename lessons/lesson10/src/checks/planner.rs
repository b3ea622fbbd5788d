use canopy::{
    precision::{BF16, bytes_per_parameter},
    shard::{Stage, bytes_per_rank},
    split::{Choice, Machine, Work},
};
use grader::{Draw, Finding, Verdict, Wrong, draw, given};

use crate::Lesson10;

/// A thousand parameters, 16 bytes each, and activations of 100 bytes a sample: small numbers, so that a case can be followed
/// by hand.
fn work() -> Work {
    Work {
        parameters: 1000,
        each: bytes_per_parameter(BF16, 2),
        activations: 100,
        layers: 12,
        batch: 48,
    }
}

/// Links between nodes are slower than those inside.
fn machine(nodes: u64, ranks_per_node: u64, memory: u64) -> Machine {
    Machine {
        nodes,
        ranks_per_node,
        memory,
        inside: 300e9,
        between: 25e9,
    }
}

/// A candidate of the list, and what it keeps.
fn spread(work: &Work, machine: &Machine, tensor: u64, pipeline: u64, stage: Stage) -> Choice {
    let up = |a: u64, b: u64| a / b + u64::from(!a.is_multiple_of(b));
    let parts = tensor * pipeline;
    let data = machine.nodes * machine.ranks_per_node / parts;
    let share = up(work.batch, data);
    let [a, b, c] = bytes_per_rank(up(work.parameters, parts), work.each, stage, data);
    let sample = up(work.activations, parts);
    let mut micro_batch = 1;
    while pipeline == 1 && micro_batch < share && a + b + c + (micro_batch + 1) * sample <= machine.memory {
        micro_batch += 1;
    }
    let micro_batches = up(share, micro_batch);
    let bytes = a + b + c + pipeline.min(micro_batches) * micro_batch * sample;
    Choice {
        tensor,
        pipeline,
        data,
        stage,
        micro_batch,
        micro_batches,
        bytes,
        fits: bytes <= machine.memory,
    }
}

fn candidates(work: &Work, machine: &Machine) -> Vec<Choice> {
    let spread = |t, p, stage| spread(work, machine, t, p, stage);
    let mut all: Vec<Choice> = [Stage::Zero0, Stage::Zero1, Stage::Zero2]
        .map(|stage| spread(1, 1, stage))
        .into();
    if machine.nodes == 1 || machine.between >= machine.inside {
        all.push(spread(1, 1, Stage::Zero3));
    }
    let (nodes, inside) = (machine.nodes, machine.ranks_per_node);
    for tensor in 2..=inside {
        if inside.is_multiple_of(tensor) {
            all.push(spread(tensor, 1, Stage::Zero0));
        }
    }
    for pipeline in 2..=nodes {
        if nodes.is_multiple_of(pipeline) && pipeline <= work.layers {
            all.push(spread(inside, pipeline, Stage::Zero0));
        }
    }
    all
}

fn expected(work: &Work, machine: &Machine) -> Choice {
    let mut best: Option<Choice> = None;
    for choice in candidates(work, machine) {
        if choice.fits {
            return choice;
        }
        if best.is_none_or(|best| choice.bytes < best.bytes) {
            best = Some(choice);
        }
    }
    best.unwrap_or_else(|| spread(work, machine, 1, 1, Stage::Zero0))
}

fn check(answer: &Lesson10, work: &Work, machine: &Machine) -> Verdict {
    let input = format!(
        "{} parameters of {} bytes, {} bytes of activations, {} layers, batch {}; nodes × ranks {} × {}, {} bytes a rank, {} GB/s \
         inside, {} GB/s between",
        work.parameters,
        work.each.total(),
        work.activations,
        work.layers,
        work.batch,
        machine.nodes,
        machine.ranks_per_node,
        machine.memory,
        machine.inside / 1e9,
        machine.between / 1e9
    );
    given(&input);
    let (got, right) = ((answer.choose)(work, machine), expected(work, machine));
    if got == right {
        return Ok(());
    }
    let rows = fields(right)
        .into_iter()
        .zip(fields(got))
        .map(|((name, right), (_, got))| {
            let mark = if right == got { "" } else { "  differs" };
            format!("{:10}{name:<14}{right:>12}{got:>12}{mark}", "")
        });
    let head = format!("{:24}{:>12}{:>12}", "", "expected", "got");
    // A known mistake is recognised by these lines.
    Err(Finding::Wrong(Box::new(Wrong {
        kind: Default::default(),
        input,
        what: "the Choice".into(),
        got: None,
        lines: [head].into_iter().chain(rows).collect(),
    })))
}

fn fields(c: Choice) -> [(&'static str, String); 8] {
    [
        ("tensor", c.tensor.to_string()),
        ("pipeline", c.pipeline.to_string()),
        ("data", c.data.to_string()),
        ("stage", format!("{:?}", c.stage)),
        ("micro_batch", c.micro_batch.to_string()),
        ("micro_batches", c.micro_batches.to_string()),
        ("bytes", c.bytes.to_string()),
        ("fits", c.fits.to_string()),
    ]
}

/// Checks a machine of `nodes` × `ranks` with the memory that a candidate needs, so that it is the first to fit if those
/// before it need more.
fn nth(answer: &Lesson10, work: &Work, (nodes, ranks): (u64, u64), which: (u64, u64, Stage)) -> Verdict {
    // With a memory of 0, a candidate has micro-batches of one sample: what it needs at least.
    let least = spread(work, &machine(nodes, ranks, 0), which.0, which.1, which.2).bytes;
    check(answer, work, &machine(nodes, ranks, least + 7))
}

pub fn prefers_data_parallelism(answer: &Lesson10) -> Verdict {
    let mut draw = draw();
    check(answer, &work(), &machine(1, 1, 1_000_000))?;
    for (nodes, ranks) in [(1, 4), (2, 3), (draw.whole(2, 5) as u64, 2)] {
        check(answer, &work(), &machine(nodes, ranks, 1_000_000))?;
        nth(answer, &work(), (nodes, ranks), (1, 1, Stage::Zero0))?;
    }
    Ok(())
}

pub fn shares_states_next(answer: &Lesson10) -> Verdict {
    for size in [(1, 4), (2, 4), (3, 2)] {
        for stage in [Stage::Zero1, Stage::Zero2] {
            nth(answer, &work(), size, (1, 1, stage))?;
        }
    }
    Ok(())
}

pub fn gathers_parameters_over_fast_links(answer: &Lesson10) -> Verdict {
    let with = |nodes, (inside, between): (f64, f64)| {
        let slow = machine(nodes, 4, 0);
        let memory = spread(&work(), &slow, 1, 1, Stage::Zero3).bytes + 7;
        let machine = Machine {
            inside,
            between,
            memory,
            ..slow
        };
        check(answer, &work(), &machine)
    };
    with(1, (300e9, 300e9))?;
    with(2, (300e9, 25e9))?;
    with(2, (300e9, 299e9))?;
    with(2, (25e9, 50e9))?;
    with(2, (300e9, 300e9))?;
    // A single node has no link between nodes.
    with(1, (300e9, 25e9))
}

/// Activations of one sample that do not fit beside the model, so that ZeRO does not help.
fn heavy() -> Work {
    Work {
        activations: 30_000,
        ..work()
    }
}

pub fn splits_layers_inside_a_node(answer: &Lesson10) -> Verdict {
    // The divisors of 12 and 6 are not all powers of two; 5 and 7 are no divisors.
    for tensor in [2, 3, 4, 6, 12, 5, 7] {
        nth(answer, &heavy(), (2, 12), (tensor, 1, Stage::Zero0))?;
    }
    for tensor in [2, 3, 6] {
        nth(answer, &heavy(), (4, 6), (tensor, 1, Stage::Zero0))?;
    }
    // Less than a whole node needs.
    nth(answer, &heavy(), (2, 12), (12, 2, Stage::Zero0))
}

pub fn makes_nodes_the_stages(answer: &Lesson10) -> Verdict {
    // 5 and 8 do not divide the 12 nodes, but 8 divides the 48 ranks.
    for pipeline in [2, 3, 4, 6, 12, 5, 8] {
        nth(answer, &heavy(), (12, 4), (4, pipeline, Stage::Zero0))?;
    }
    for pipeline in [3, 9] {
        nth(answer, &work(), (9, 1), (1, pipeline, Stage::Zero0))?;
    }
    // A pipeline of 7 stages with `tensor` 1 would fit as well.
    check(answer, &work(), &machine(7, 2, 2_500))
}

pub fn has_at_most_a_stage_a_layer(answer: &Lesson10) -> Verdict {
    for layers in [4, 5, 6, 1] {
        let work = Work { layers, ..work() };
        // So little memory that only more stages would fit.
        nth(answer, &work, (12, 2), (2, 12, Stage::Zero0))?;
        nth(answer, &work, (12, 2), (2, 4, Stage::Zero0))?;
    }
    Ok(())
}

pub fn uses_all_ranks(answer: &Lesson10) -> Verdict {
    let mut draw = draw();
    for _ in 0..3 {
        let work = Work {
            batch: draw.whole(30, 90) as u64,
            ..heavy()
        };
        nth(answer, &work, (6, 4), (4, 1, Stage::Zero0))?;
        nth(answer, &work, (6, 4), (4, 3, Stage::Zero0))?;
        nth(answer, &work, (6, 4), (2, 1, Stage::Zero0))?;
    }
    Ok(())
}

pub fn chooses_the_largest_micro_batch(answer: &Lesson10) -> Verdict {
    let mut draw = draw();
    let model = 16_000;
    for samples in [1, 5, 7, 11, 12, 13, draw.whole(2, 10) as u64] {
        let bytes = model + 100 * samples + draw.whole(0, 99) as u64;
        check(answer, &work(), &machine(1, 4, bytes))?;
        check(answer, &work(), &machine(1, 1, bytes))?;
    }
    Ok(())
}

pub fn counts_the_activations_of_a_pipeline(answer: &Lesson10) -> Verdict {
    // Fewer micro-batches than stages.
    let few = Work { batch: 2, ..heavy() };
    for work in [few, heavy()] {
        for pipeline in [2, 4] {
            nth(answer, &work, (4, 2), (2, pipeline, Stage::Zero0))?;
        }
    }
    Ok(())
}

/// Numbers that no division meets exactly.
fn odd(draw: &mut Draw) -> Work {
    Work {
        parameters: 1001 + 12 * draw.whole(0, 40) as u64,
        activations: 10_001 + 12 * draw.whole(0, 40) as u64,
        batch: 49,
        ..work()
    }
}

pub fn rounds_up(answer: &Lesson10) -> Verdict {
    let mut draw = draw();
    for _ in 0..2 {
        let work = odd(&mut draw);
        check(answer, &work, &machine(1, 4, 45_000))?;
        nth(answer, &work, (4, 3), (3, 1, Stage::Zero0))?;
        nth(answer, &work, (4, 3), (3, 4, Stage::Zero0))?;
    }
    Ok(())
}

pub fn fills_the_memory_exactly(answer: &Lesson10) -> Verdict {
    for which in [
        (1, 1, Stage::Zero0),
        (1, 1, Stage::Zero2),
        (4, 1, Stage::Zero0),
        (4, 2, Stage::Zero0),
    ] {
        let least = spread(&work(), &machine(4, 4, 0), which.0, which.1, which.2).bytes;
        check(answer, &work(), &machine(4, 4, least))?;
        check(answer, &work(), &machine(4, 4, least - 1))?;
    }
    Ok(())
}

pub fn returns_the_smallest_if_none_fits(answer: &Lesson10) -> Verdict {
    for (nodes, ranks) in [(1, 1), (1, 4), (2, 4), (6, 2)] {
        for memory in [0, 50] {
            check(answer, &work(), &machine(nodes, ranks, memory))?;
        }
    }
    // Large activations: a pipeline that holds many of them needs more than a candidate before it.
    let large = Work {
        activations: 1_000_000,
        parameters: 100,
        ..work()
    };
    for (nodes, ranks) in [(4, 1), (2, 4), (6, 2)] {
        check(answer, &large, &machine(nodes, ranks, 10))?;
    }
    Ok(())
}
