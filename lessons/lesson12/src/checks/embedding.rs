use candle_core::{DType, Result, Tensor};
use canopy::target::SparseGradient;
use grader::{Case, Draw, Values, Verdict, draw, given};

use super::{Input, check_grads, rejects, values};
use crate::Lesson12;

fn matrix(draw: &mut Draw, rows: usize, width: usize) -> Input {
    Input::new(&super::wide(&draw.list(rows * width, -2.0, 2.0)), &[rows, width])
}

/// The rows of a matrix that `ids` name.
fn rows_of(table: &Input, ids: &[u32]) -> Values {
    let width = table.shape[1];
    let row = |&id: &u32| &table.numbers[id as usize * width..][..width];
    let numbers = ids.iter().flat_map(row).copied().collect();
    Values::tensor(numbers, &[ids.len(), width], table.dtype.as_str())
}

fn look_up_case(table: &Input, ids: &[u32]) -> Case {
    given(format!("{}, ids {ids:?}", table.text("table")))
}

fn look_up(answer: &Lesson12, table: &Input, ids: &[u32]) -> Verdict {
    let case = look_up_case(table, ids);
    let got = (answer.embed)(&table.tensor()?, ids)?;
    case.close("rows", values(&got)?, rows_of(table, ids))
}

/// Ids below `categories`, each different, in no order.
fn different(draw: &mut Draw, categories: usize, count: usize) -> Vec<u32> {
    let mut left: Vec<u32> = (0..categories as u32).collect();
    (0..count)
        .map(|_| left.remove(draw.whole(0, left.len() - 1)))
        .collect()
}

pub fn selects_rows_in_the_order_of_ids(answer: &Lesson12) -> Verdict {
    let mut draw = draw();
    for (categories, width) in [(6, 3), (3, 5), (4, 4), (5, 1), (1, 3)] {
        let table = matrix(&mut draw, categories, width);
        let mut ids = different(&mut draw, categories, categories.min(4));
        // Descending somewhere, so that an answer that sorts them differs.
        if ids.is_sorted() {
            ids.reverse();
        }
        look_up(answer, &table, &ids)?;
    }
    Ok(())
}

pub fn selects_a_row_several_times(answer: &Lesson12) -> Verdict {
    let mut draw = draw();
    let table = matrix(&mut draw, 5, 2);
    let ids = different(&mut draw, 5, 3);
    look_up(answer, &table, &[ids[0], ids[1], ids[0], ids[0], ids[2], ids[1]])?;
    look_up(answer, &table, &[ids[2], ids[2]])
}

pub fn returns_no_rows_without_ids(answer: &Lesson12) -> Verdict {
    let table = matrix(&mut draw(), 4, 3);
    look_up(answer, &table, &[])
}

pub fn keeps_the_dtype_of_the_table(answer: &Lesson12) -> Verdict {
    let mut draw = draw();
    let mut table = matrix(&mut draw, 4, 2).with(DType::F64);
    // f32 does not have these numbers.
    table
        .numbers
        .iter_mut()
        .for_each(|v| *v = (*v * 1e3).round() / 1e3);
    look_up(answer, &table, &[2, 0, 2])
}

pub fn passes_the_gradient_to_the_table(answer: &Lesson12) -> Verdict {
    let mut draw = draw();
    let table = matrix(&mut draw, 4, 2);
    let ids = [3, 1, 3];
    let weights = matrix(&mut draw, 3, 2);
    let case = given(format!(
        "{}, ids {ids:?}, the loss Σ weight·result with {}",
        table.text("table"),
        weights.text("weights")
    ));
    let var = table.var()?;
    let got = (answer.embed)(&var, &ids)?;
    case.close("shape of the result", &got.dims().to_vec(), &vec![3usize, 2])?;
    let loss = (got * weights.var()?.as_tensor())?.sum_all()?;
    let mut gradient = vec![0.0; 8];
    for (id, row) in ids.iter().zip(weights.numbers.chunks(2)) {
        for (sum, w) in gradient[*id as usize * 2..].iter_mut().zip(row) {
            *sum += w;
        }
    }
    check_grads(&case, &loss, &["table"], &[var], [gradient])
}

pub fn selects_from_a_transposed_table(answer: &Lesson12) -> Verdict {
    let mut draw = draw();
    let table = matrix(&mut draw, 4, 3);
    let ids = [2, 0, 3];
    let case = given(format!("{}, a transposed view, ids {ids:?}", table.text("table")));
    let got = (answer.embed)(&table.transposed()?, &ids)?;
    case.close("rows", values(&got)?, rows_of(&table, &ids))
}

pub fn rejects_ids_beyond_the_table(answer: &Lesson12) -> Verdict {
    let mut draw = draw();
    let categories = draw.whole(3, 6);
    let table = matrix(&mut draw, categories, 2);
    let beyond = categories as u32;
    let var = table.var()?;
    for ids in [vec![0, beyond], vec![beyond + 7, 1], vec![1, u32::MAX, 0]] {
        // What came instead tells one mistake from another.
        if let Ok(got) = (answer.embed)(&var, &ids) {
            let got = format!("Ok: {}", values(&got)?.short(50));
            look_up_case(&table, &ids).require("an error", false, got)?;
        }
    }
    look_up(answer, &table, &[beyond - 1, 0])
}

/// Each id once, in order, and the sum of the rows of each.
fn by_hand(ids: &[u32], grad: &Input) -> (Vec<u32>, Values) {
    let mut rows = ids.to_vec();
    rows.sort_unstable();
    rows.dedup();
    let width = grad.shape[1];
    let mut sums = vec![0.0; rows.len() * width];
    for (id, row) in ids.iter().zip(grad.numbers.chunks(width)) {
        let at = rows.iter().position(|r| r == id).unwrap_or_default();
        for (sum, g) in sums[at * width..].iter_mut().zip(row) {
            *sum += g;
        }
    }
    let sums = Values::tensor(sums, &[rows.len(), width], grad.dtype.as_str());
    (rows, sums)
}

fn gradient_case(ids: &[u32], grad: &Input) -> Case {
    given(format!("ids {ids:?}, {}", grad.text("grad"))).at_scale(2.0)
}

fn compare(case: &Case, got: &Result<SparseGradient>, ids: &[u32], grad: &Input) -> Verdict {
    let got = match got {
        Ok(got) => got,
        Err(error) => {
            let text = error.to_string();
            let first = text.lines().next().unwrap_or_default();
            return case.require("a gradient", false, first);
        }
    };
    let (rows, sums) = by_hand(ids, grad);
    case.close("rows", &got.rows, &rows)?;
    case.close("values", values(&got.values)?, sums)
}

fn gradient(answer: &Lesson12, ids: &[u32], grad: &Input) -> Verdict {
    let case = gradient_case(ids, grad);
    let got = (answer.embedding_gradient)(ids, &grad.tensor()?);
    compare(&case, &got, ids, grad)
}

pub fn lists_each_id_once_in_order(answer: &Lesson12) -> Verdict {
    let mut draw = draw();
    let [a, b, c] = [draw.whole(6, 9), draw.whole(20, 90), draw.whole(0, 3)].map(|v| v as u32);
    for ids in [vec![b, c, c, a, c], vec![a, b, a, a, c], vec![b], vec![c, c, c]] {
        let grad = matrix(&mut draw, ids.len(), 2);
        let case = gradient_case(&ids, &grad);
        let got = (answer.embedding_gradient)(&ids, &grad.tensor()?)?;
        case.close("rows", &got.rows, &by_hand(&ids, &grad).0)?;
    }
    // A sum of 0 is a gradient, too.
    let grad = Input::new(&[1.5, -0.5, 0.25, 1.0, -1.5, 0.5], &[3, 2]);
    gradient(answer, &[a, c, a], &grad)
}

pub fn sums_the_rows_of_each_id(answer: &Lesson12) -> Verdict {
    let mut draw = draw();
    let [a, b, c] = [draw.whole(6, 9), draw.whole(20, 90), draw.whole(0, 3)].map(|v| v as u32);
    let cases = [
        vec![b, c, a, c],
        vec![a, b, a, a, c],
        vec![b, a, c],
        vec![c, c],
        vec![a],
    ];
    for ids in cases {
        let width = draw.whole(2, 4);
        gradient(answer, &ids, &matrix(&mut draw, ids.len(), width))?;
    }
    // Many of few ids.
    let ids = draw.below(60, 7);
    gradient(answer, &ids, &matrix(&mut draw, 60, 3))
}

pub fn keeps_the_dtype_of_the_gradient(answer: &Lesson12) -> Verdict {
    let mut grad = matrix(&mut draw(), 4, 2).with(DType::F64);
    grad.numbers
        .iter_mut()
        .for_each(|v| *v = (*v * 1e3).round() / 1e3);
    gradient(answer, &[5, 2, 5, 9], &grad)
}

pub fn sums_a_transposed_gradient(answer: &Lesson12) -> Verdict {
    let grad = matrix(&mut draw(), 4, 3);
    let ids = [3, 8, 3, 1];
    let case = given(format!("ids {ids:?}, {}, a transposed view", grad.text("grad"))).at_scale(2.0);
    let got = (answer.embedding_gradient)(&ids, &grad.transposed()?);
    compare(&case, &got, &ids, &grad)
}

pub fn returns_no_gradient_without_ids(answer: &Lesson12) -> Verdict {
    for dtype in [DType::F32, DType::F64] {
        let grad = Input::new(&[], &[0, 3]).with(dtype);
        let case = given(format!("no ids, grad [0, 3] of {}", dtype.as_str()));
        let none = Tensor::zeros((0, 3), dtype, &candle_core::Device::Cpu)?;
        let got = (answer.embedding_gradient)(&[], &none);
        compare(&case, &got, &[], &grad)?;
    }
    Ok(())
}

pub fn rejects_a_gradient_with_other_rows(answer: &Lesson12) -> Verdict {
    let mut draw = draw();
    for (ids, rows) in [
        (vec![4, 1, 4], 2),
        (vec![4, 1, 4], 4),
        (vec![], 2),
        (vec![6], 0),
        (vec![3, 2], 1),
    ] {
        let grad = matrix(&mut draw, rows, 2);
        let case = gradient_case(&ids, &grad);
        rejects(&case, (answer.embedding_gradient)(&ids, &grad.tensor()?))?;
    }
    Ok(())
}
