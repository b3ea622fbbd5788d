//! 12.1: rows of a table, and its sparse gradient.

use candle_core::{DType, Device, Result, Tensor, Var};
use grader::{Check, Draw, Facts, Mistake, Verdict, given, mistakes, rows};
use kit::values;

use crate::{Lesson12, REFERENCE, answers};

/// Ids, and a table or the gradient of its rows.
type Input = (Vec<u32>, Result<Tensor>);

fn compare(
    answer: &Lesson12,
    (ids, matrix): Input,
    name: &str,
    facts: fn(&Lesson12, &[u32], &Tensor) -> Result<Facts>,
) -> Verdict {
    let matrix = matrix?;
    let contiguous = matrix.is_contiguous();
    let text = format!(
        "ids {ids:?}, {name} {}; contiguous: {contiguous}",
        values(&matrix)?.short(300)
    );
    let of = |lesson| Facts::of(facts(lesson, &ids, &matrix), |facts| facts);
    given(text).at_scale(2.0).same(of(answer), of(&REFERENCE))
}

fn look_up(answer: &Lesson12, input: Input) -> Verdict {
    compare(answer, input, "table", |lesson, ids, table| {
        Ok(Facts::default().values("rows", values(&(lesson.embed)(table, ids)?)?))
    })
}

fn gradient_of_table(answer: &Lesson12, input: Input) -> Verdict {
    compare(answer, input, "table", |lesson, ids, table| {
        let table = Var::from_tensor(table)?;
        let rows = (lesson.embed)(&table, ids)?.flatten_all()?;
        // Each number counts another time.
        let times = Tensor::arange(1f32, 1.0 + rows.elem_count() as f32, &Device::Cpu)?;
        let gradients = (rows * times)?.sum_all()?.backward()?;
        let what =
            "gradient of the table, of 1·r₁ + 2·r₂ + 3·r₃ + …, where r₁, r₂, … are the numbers of the result";
        Ok(match gradients.get(&table) {
            Some(gradient) => Facts::default().values(what, values(gradient)?),
            None => Facts::default().text(what, "none: the result does not depend on it"),
        })
    })
}

fn sums(answer: &Lesson12, input: Input) -> Verdict {
    compare(answer, input, "grad", |lesson, ids, grad| {
        let gradient = (lesson.embedding_gradient)(ids, grad)?;
        Ok(Facts::default()
            .values("rows", &gradient.rows)
            .cause("`rows` has the different ids, ascending, and no others: sort a copy of `ids`, then `dedup` it.")
            .asked("with id `rows[i]`")
            .values("values", values(&gradient.values)?))
    })
}

fn drawn(d: &mut Draw, ids: &[u32], rows: usize, width: usize) -> Input {
    let matrix = Tensor::from_vec(d.list(rows * width, -2.0, 2.0), (rows, width), &Device::Cpu);
    (ids.to_vec(), matrix)
}

/// A gradient for each of some ids.
fn grad(d: &mut Draw, ids: &[u32], width: usize) -> Input {
    drawn(d, ids, ids.len(), width)
}

/// In f64, with numbers that f32 does not have.
fn wide((ids, matrix): Input) -> Input {
    (ids, matrix.and_then(|matrix| matrix.to_dtype(DType::F64)? / 3.0))
}

/// As a view of the transpose.
fn transposed((ids, matrix): Input) -> Input {
    (ids, matrix.and_then(|matrix| matrix.t()?.contiguous()?.t()))
}

pub const CHECKS: &[Check<Lesson12>] = rows! { "12.1";
    by look_up {
        selects_a_row_for_each_id: "for each of `ids`",
            "Row i of the result is row `ids[i]` of the table, counted from 0. An id that repeats repeats its row." => |d| {
            let lists: [(&[u32], _, _); 7] = [
                (&[4, 1, 5, 0], 6, 3), (&[2, 0, 1], 3, 5), (&[3, 1, 0, 2], 4, 4), (&[2, 4, 0, 3], 5, 1), (&[0], 1, 3),
                (&[3, 1, 3, 3, 4, 1], 5, 2), (&[2, 2], 5, 2),
            ];
            lists.map(|(ids, rows, width)| drawn(d, ids, rows, width)).into()
        };
        keeps_the_dtype_of_the_table: "the dtype of `table`",
            "The result has the dtype of the table, f32 or f64: convert nothing." =>
            |d| vec![wide(drawn(d, &[2, 0, 2], 4, 2))];
    }
    by gradient_of_table {
        passes_the_gradient_to_the_table: "`backward` through it reaches `table`",
            "Select from `table` itself: what is detached, or built from numbers, has no gradient." =>
            |d| vec![drawn(d, &[3, 1, 3], 4, 2)];
    }
    by look_up {
        rejects_ids_beyond_the_table: "if an id is not below `categories`",
            "Return an error for an id of `categories` and above, and for no id below." => |d| {
            let categories = d.whole(3, 6);
            let beyond = categories as u32;
            let lists = [vec![0, beyond], vec![beyond + 7, 1], vec![1, u32::MAX, 0], vec![beyond - 1, 0]];
            lists.map(|ids| drawn(d, &ids, categories, 2)).into()
        };
    }
    by sums {
        sums_the_rows_of_each_id: "the sum of the rows of `grad` with id `rows[i]`",
            "Row i of `values` is the sum, as it is, of all rows of `grad` whose id is `rows[i]`." => |d| {
            let lists: [&[u32]; 6] = [&[31, 2, 2, 7, 2], &[31, 2, 7, 2], &[7, 31, 7, 7, 2], &[31, 7, 2], &[2, 2], &[7]];
            let mut all = lists.map(|ids| grad(d, ids, 3)).into_iter().collect::<Vec<Input>>();
            // Many of few ids; and a sum of 0, which is a gradient, too.
            let many = d.below(60, 7);
            all.push(grad(d, &many, 2));
            let zero = [[1.5f32, -0.5], [0.25, 1.0], [-1.5, 0.5]];
            all.push((vec![7, 2, 7], Tensor::new(&zero, &Device::Cpu)));
            all
        };
        keeps_the_dtype_of_the_gradient: "in their dtype",
            "Read and add the gradients in the dtype of `grad`, f32 or f64: convert nothing." =>
            |d| vec![wide(grad(d, &[5, 2, 5, 9], 2))];
        sums_a_transposed_gradient: "contiguous or not",
            "A transposed view is not contiguous: call `contiguous` before `index_add`." =>
            |d| vec![transposed(grad(d, &[3, 8, 3, 1], 3))];
        rejects_a_gradient_with_other_rows: "unless `grad` has one row per id",
            "First, return an error if the numbers of rows and ids differ." => |d| {
            let cases = [(vec![4, 1, 4], 2), (vec![4, 1, 4], 4), (vec![6], 0), (vec![3, 2], 1)];
            cases.map(|(ids, rows)| drawn(d, &ids, rows, 2)).into()
        };
    }
};

pub const MISTAKES: &[Mistake<Lesson12>] = mistakes! { "12.1" [embed, embedding_gradient];
    1 "The ids are not tested: candle's `index_select` returns zeros for 4294967295, and a GPU tests none.";
    2 "`dedup` only merges neighbours, and `partition_point` needs a sorted list: sort first.";
    3 "The ids still contain duplicates: `rows` has each id once, so call `dedup` after the sort.";
};
