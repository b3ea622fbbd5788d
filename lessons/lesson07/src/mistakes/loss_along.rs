//! Known wrong answers to exercise 7.8.

use super::*;

pub const MISTAKES: &[Mistake<Lesson07>] = &[
    wrong!("7.8", normalises_each_filter, "The direction is not normalised; scale its filters to the norms of the weights' filters.",
        loss_along: |p, d, a, f| losses_along((p, d, a), f, |w, d| if w.rank() < 2 { d.zeros_like() } else { Ok(d.clone()) })),
    wrong!("7.8", normalises_each_filter, "The whole parameter is normalised at once; each filter has its own norm.",
        loss_along: |p, d, a, f| losses_along((p, d, a), f, |w, d| if w.rank() < 2 { d.zeros_like() } else { d * (norm(w)? / norm(d)?) })),
    wrong!("7.8", normalises_each_filter, "Every filter is scaled to norm 1; it should have the norm of the weights' filter.",
        loss_along: wrong_loss_along::one_long),
    wrong!("7.8", normalises_each_filter, "The direction is multiplied by the weights element by element.",
        loss_along: |p, d, a, f| losses_along((p, d, a), f, |w, d| if w.rank() < 2 { d.zeros_like() } else { w * d })),
    wrong!("7.8", normalises_each_filter, "The saved value shares its memory with the variable: keep `as_detached_tensor().copy()?`.",
        loss_along: |p, _, _, _| p[0].set(&p[0].as_detached_tensor()).map(|()| Vec::new())),
    wrong!("7.8", normalises_each_filter, "A vector has no second axis to flatten from: it does not move, so handle it first.",
        loss_along: |p, _, _, _| p[1].flatten_from(1).map(|_| Vec::new())),
    wrong!("7.8", starts_every_step_at_the_weights, "Each step starts at the last position: keep copies of w, and start from them every time.",
        loss_along: wrong_loss_along::from_the_last),
    wrong!("7.8", leaves_vectors_unchanged, "Biases move as well; they should not move.",
        loss_along: |p, d, a, f| losses_along((p, d, a), f, |w, d| if w.rank() < 2 { d * (norm(w)? / norm(d)?) } else { stretched(w, d) })),
    wrong!("7.8", returns_the_losses_in_order, "The losses are sorted by α; return them in the order of `alphas`.",
    loss_along: |p, d, a, f| {
        let mut sorted = a.to_vec();
        sorted.sort_by(f64::total_cmp);
        losses_along((p, d, &sorted), f, stretched)
    }),
    wrong!("7.8", returns_the_losses_in_order, "The difference to the loss at w is returned; return the loss itself.",
    loss_along: |p, d, a, f| {
        let here = f()?;
        Ok(losses_along((p, d, a), f, stretched)?.into_iter().map(|l| l - here).collect())
    }),
    wrong!("7.8", accepts_a_filter_of_zeros, "A filter of zeros is divided by its norm, 0; it should stay zero.",
        loss_along: wrong_loss_along::zeros_divided),
    wrong!("7.8", restores_parameters_bit_identically, "α·d is subtracted again, which rounds: the parameters are not bit-identical. Keep a copy, and `set` it.",
        loss_along: wrong_loss_along::taken_off),
    wrong!("7.8", restores_parameters_bit_identically, "The parameters stay at the last position; restore them.",
        loss_along: wrong_loss_along::stays),
    wrong!("7.8", restores_parameters_after_an_error, "`?` returns before the parameters are restored: keep the result, restore, then return it.",
        loss_along: wrong_loss_along::left_early),
    wrong!("7.8", restores_parameters_after_an_error, "The error of `loss` is swallowed; return it after the parameters are restored.",
        loss_along: |p, d, a, f| (REFERENCE.loss_along)(p, d, a, &mut || Ok(f().unwrap_or(f64::NAN)))),
    wrong!("7.8", normalises_each_filter, "The columns are taken for filters: sum the squares over all axes but the first.",
        loss_along: |p, d, a, f| losses_along((p, d, a), f, wrong_loss_along::by_columns)),
    wrong!("7.8", normalises_each_filter, "Only the last axis is taken for a filter; a filter is `d[i]` with all further axes.",
        loss_along: |p, d, a, f| losses_along((p, d, a), f, wrong_loss_along::by_last_axis)),
    wrong!("7.8", normalises_each_filter, "Parameters with two axes do not move; only those with at most one axis should stay.",
        loss_along: |p, d, a, f| losses_along((p, d, a), f, |w, d| if w.rank() < 3 { d.zeros_like() } else { stretched(w, d) })),
    wrong!("7.8", normalises_each_filter, "A parameter of shape [n, 1] does not move; it has two axes, and filters of one number.",
        loss_along: |p, d, a, f| losses_along((p, d, a), f, |w, d| if w.rank() < 2 || w.elem_count() == w.dims()[0] { d.zeros_like() } else { stretched(w, d) })),
    wrong!("7.8", normalises_each_filter, "The parameters are set to α·d; it should be w + α·d.",
        loss_along: wrong_loss_along::without_w),
    wrong!("7.8", normalises_each_filter, "The norms are sums of absolute values; the length is the root of the sum of the squares.",
        loss_along: |p, d, a, f| losses_along((p, d, a), f, wrong_loss_along::by_sums)),
    wrong!("7.8", normalises_each_filter, "The ratio of the lengths is upside down: divide that of w by that of d.",
        loss_along: |p, d, a, f| losses_along((p, d, a), f, wrong_loss_along::upside_down)),
    wrong!("7.8", normalises_each_filter, "`loss` is called once more than there are alphas.",
        loss_along: |p, d, a, f| { f()?; (REFERENCE.loss_along)(p, d, a, f) }),
    wrong!("7.8", starts_every_step_at_the_weights, "The direction is normalised to where the parameters are after the last step; normalise it to w, once.",
        loss_along: wrong_loss_along::renormalised),
    wrong!("7.8", leaves_vectors_unchanged, "Each number of a bias is taken for a filter and moves; parameters with at most one axis should stay.",
    loss_along: |p, d, a, f| losses_along((p, d, a), f, |w, d| match w.rank() {
        0 => d.zeros_like(),
        1 => stretched(&w.unsqueeze(1)?, &d.unsqueeze(1)?)?.squeeze(1),
        _ => stretched(w, d),
    })),
    wrong!("7.8", leaves_vectors_unchanged, "A parameter without axes, a single number, moves; parameters with at most one axis should stay.",
        loss_along: |p, d, a, f| losses_along((p, d, a), f, |w, d| if w.rank() == 0 { Ok(d.clone()) } else { stretched(w, d) })),
    wrong!("7.8", leaves_vectors_unchanged, "Biases move by the direction as it is; they should not move.",
        loss_along: |p, d, a, f| losses_along((p, d, a), f, |w, d| if w.rank() < 2 { Ok(d.clone()) } else { stretched(w, d) })),
    wrong!("7.8", accepts_no_alphas, "Without alphas there is no loss to compute: return an empty list.",
        loss_along: |p, d, a, f| if a.is_empty() { Ok(vec![f()?]) } else { (REFERENCE.loss_along)(p, d, a, f) }),
    wrong!("7.8", accepts_a_filter_of_zeros, "A filter of zeros in the direction becomes ones and moves; it should stay zeros.",
        loss_along: |p, d, a, f| losses_along((p, d, a), f, wrong_loss_along::ones_for_zeros)),
    wrong!("7.8", accepts_a_filter_of_zeros, "The direction of a filter of zeros in w is not scaled; it should have its length, 0.",
        loss_along: |p, d, a, f| losses_along((p, d, a), f, wrong_loss_along::zero_weights)),
    wrong!("7.8", restores_parameters_after_an_error, "`unwrap` panics when `loss` fails; restore the parameters and return the error.",
        loss_along: |p, d, a, f| (REFERENCE.loss_along)(p, d, a, &mut || Ok(f().unwrap()))),
    wrong!("7.8", restores_parameters_after_an_error, "`loss` is called again after it failed; restore the parameters and return its error.",
        loss_along: wrong_loss_along::goes_on),
    wrong!("7.8", normalises_each_filter, "The ratio of the squared lengths is used: the roots are missing.",
        loss_along: |p, d, a, f| losses_along((p, d, a), f, wrong_loss_along::squared)),
    wrong!("7.8", normalises_each_filter, "The lengths are summed over axis 1 only; a filter is `d[i]` with all further axes: flatten them first.",
        loss_along: |p, d, a, f| losses_along((p, d, a), f, wrong_loss_along::by_second_axis)),
    wrong!("7.8", normalises_each_filter, "The length of a filter of zeros in w is taken for 1; it is 0, and the filter does not move. Only the length of d needs that.",
        loss_along: |p, d, a, f| losses_along((p, d, a), f, wrong_loss_along::ones_for_both)),
    wrong!("7.8", normalises_each_filter, "A parameter without axes has no first axis: it does not move, so handle it before you ask for its length.",
        loss_along: |p, _, _, _| p[4].dim(0).map(|_| Vec::new())),
    wrong!("7.8", normalises_each_filter, "The given parameters do not move: set `params` themselves, not copies of them.",
        loss_along: |p, d, a, f| losses_along((p, d, a), f, |_, d| d.zeros_like())),
    wrong!("7.8", normalises_each_filter, "Parameters with three axes do not move; only those with at most one axis should stay.",
        loss_along: |p, d, a, f| losses_along((p, d, a), f, |w, d| if w.rank() == 2 { stretched(w, d) } else { d.zeros_like() })),
    wrong!("7.8", returns_non_finite_losses, "A loss that is not finite ends the list; there should be a loss for each α.",
    loss_along: |p, d, a, f| {
        let losses = (REFERENCE.loss_along)(p, d, a, f)?;
        Ok(losses.into_iter().take_while(|loss| loss.is_finite()).collect())
    }),
    wrong!("7.8", restores_parameters_after_an_error, "After an error only the first parameter is restored; restore all.",
    loss_along: |p, d, a, f| {
        let first = p[0].as_tensor().copy()?;
        let losses = wrong_loss_along::left_early(p, d, a, f);
        p[0].set(&first)?;
        losses
    }),
    wrong!("7.8", accepts_short_filters, "A small number is added to the length of a filter, or short filters are taken for 0; only a length of exactly 0 is special.",
        loss_along: |p, d, a, f| losses_along((p, d, a), f, |w, d| wrong_loss_along::softened(w, d, 1e-8))),
    wrong!("7.8", accepts_short_filters, "A small number is added to the length of a filter, or short filters are taken for 0; only a length of exactly 0 is special.",
        loss_along: |p, d, a, f| losses_along((p, d, a), f, |w, d| wrong_loss_along::softened(w, d, 1e-10))),
    wrong!("7.8", accepts_short_filters, "A small number is added to the length of a filter, or short filters are taken for 0; only a length of exactly 0 is special.",
        loss_along: |p, d, a, f| losses_along((p, d, a), f, |w, d| wrong_loss_along::softened(w, d, 1e-12))),
    wrong!("7.8", returns_non_finite_losses, "A loss that is not finite is taken for an error; it may be infinite or NaN: return it like the others.",
    loss_along: |p, d, a, f| (REFERENCE.loss_along)(p, d, a, &mut || match f()? {
        loss if loss.is_finite() => Ok(loss),
        loss => Err(candle_core::Error::Msg(format!("the loss is {loss}"))),
    })),
    wrong!("7.8", accepts_short_filters, "A small number is added to the length of a filter, or short filters are taken for 0; only a length of exactly 0 is special.",
        loss_along: |p, d, a, f| losses_along((p, d, a), f, |w, d| if norm(d)? < 1e-8 { d.zeros_like() } else { stretched(w, d) })),
];
