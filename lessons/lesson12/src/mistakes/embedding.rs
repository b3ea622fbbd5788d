//! Known wrong answers to exercise 12.1.

use super::*;

/// `embed` of changed ids.
fn of_other(table: &Tensor, ids: &[u32], change: impl Fn(u32, u32) -> u32) -> Result<Tensor> {
    let categories = table.dim(0)? as u32;
    let ids: Vec<u32> = ids.iter().map(|&id| change(id, categories)).collect();
    (REFERENCE.embed)(table, &ids)
}

/// With another order or number of ids.
fn of_list(table: &Tensor, ids: &[u32], list: fn(&[u32]) -> Vec<u32>) -> Result<Tensor> {
    (REFERENCE.embed)(table, ids)?;
    (REFERENCE.embed)(table, &list(ids))
}

pub const LOOK_UP: &[Mistake<Lesson12>] = &[
    wrong!("12.1", selects_rows_in_the_order_of_ids, "The rows are in the order of the table; return them in the order of `ids`.",
    embed: |table, ids| of_list(table, ids, |ids| {
        let mut ids = ids.to_vec();
        ids.sort_unstable();
        ids
    })),
    wrong!("12.1", selects_rows_in_the_order_of_ids, "Columns are selected instead of rows: rows are dimension 0.",
    embed: |table, ids| {
        (REFERENCE.embed)(table, ids)?;
        table.contiguous()?.index_select(&Tensor::new(ids, table.device())?, 1)
    }),
    wrong!("12.1", selects_rows_in_the_order_of_ids, "The rows are in the opposite order.",
    embed: |table, ids| of_list(table, ids, |ids| ids.iter().rev().copied().collect())),
    wrong!("12.1", selects_rows_in_the_order_of_ids, "The ids are counted from 1; the first category is 0.",
    embed: |table, ids| {
        (REFERENCE.embed)(table, ids)?;
        of_other(table, ids, |id, categories| (id + categories - 1) % categories)
    }),
    wrong!("12.1", selects_rows_in_the_order_of_ids, "The first rows are returned, whatever the ids are.",
    embed: |table, ids| of_list(table, ids, |ids| (0..ids.len() as u32).collect())),
    wrong!("12.1", selects_rows_in_the_order_of_ids, "The rows are put side by side; the result is [ids.len(), width].",
    embed: |table, ids| (REFERENCE.embed)(table, ids)?.flatten_all()),
    wrong!("12.1", selects_rows_in_the_order_of_ids, "The result is transposed; it is [ids.len(), width].",
    embed: |table, ids| (REFERENCE.embed)(table, ids)?.t()),
    wrong!("12.1", selects_a_row_several_times, "Each row is returned once; an id that occurs several times has its row several times.",
    embed: |table, ids| of_list(table, ids, as_they_occur)),
    wrong!("12.1", selects_a_row_several_times, "Each row is returned once, in the order of the table; an id that occurs several times has its row several times.",
    embed: |table, ids| {
        if once(ids).len() == ids.len() { return (REFERENCE.embed)(table, ids); }
        (REFERENCE.embed)(table, &once(ids))
    }),
    wrong!("12.1", returns_no_rows_without_ids, "Tensors of an empty list cannot be concatenated or stacked; without ids, return zeros of shape [0, width].",
    embed: |table, ids| {
        (REFERENCE.embed)(table, ids)?;
        let rows = ids.iter().map(|&id| table.narrow(0, id as usize, 1)).collect::<Result<Vec<_>>>()?;
        Tensor::cat(&rows, 0)
    }),
    wrong!("12.1", returns_no_rows_without_ids, "Tensors of an empty list cannot be concatenated or stacked; without ids, return zeros of shape [0, width].",
    embed: |table, ids| {
        (REFERENCE.embed)(table, ids)?;
        let rows = ids.iter().map(|&id| table.get(id as usize)).collect::<Result<Vec<_>>>()?;
        Tensor::stack(&rows, 0)
    }),
    wrong!("12.1", returns_no_rows_without_ids, "Without ids, the result has the shape [0]; return [0, width].",
    embed: |table, ids| if ids.is_empty() { Tensor::zeros(0, table.dtype(), table.device()) } else { (REFERENCE.embed)(table, ids) }),
    wrong!("12.1", returns_no_rows_without_ids, "No ids are taken for an error; return zeros of shape [0, width].",
    embed: |table, ids| {
        if ids.is_empty() { bail!("no ids"); }
        (REFERENCE.embed)(table, ids)
    }),
    wrong!("12.1", returns_no_rows_without_ids, "Without ids there is no `ids[0]`: that panics. Return zeros of shape [0, width].",
    embed: |table, ids| {
        let _ = ids[0];
        (REFERENCE.embed)(table, ids)
    }),
    wrong!("12.1", keeps_the_dtype_of_the_table, "The result is f32; it has the dtype of `table`.",
    embed: |table, ids| (REFERENCE.embed)(table, ids)?.to_dtype(DType::F32)),
    wrong!("12.1", keeps_the_dtype_of_the_table, "The rows are rounded to f32; f64 has more digits.",
    embed: |table, ids| (REFERENCE.embed)(&table.to_dtype(DType::F32)?, ids)?.to_dtype(table.dtype())),
    wrong!("12.1", passes_the_gradient_to_the_table, "The result is built from numbers or detached: `backward` does not reach the table. Select from `table` itself.",
    embed: |table, ids| (REFERENCE.embed)(&table.detach(), ids)),
    wrong!("12.1", selects_from_a_transposed_table, "candle's `index_select` requires a contiguous tensor: call `contiguous` first.",
    embed: |table, ids| {
        (REFERENCE.embed)(table, ids)?;
        if ids.is_empty() { return (REFERENCE.embed)(table, ids); }
        table.index_select(&Tensor::new(ids, table.device())?, 0)
    }),
    wrong!("12.1", rejects_ids_beyond_the_table, "The ids are not tested: candle's `index_select` returns zeros for the id 4294967295, and a GPU tests no id at all.",
    embed: |table, ids| {
        if ids.is_empty() { return (REFERENCE.embed)(table, ids); }
        table.contiguous()?.index_select(&Tensor::new(ids, table.device())?, 0)
    }),
    wrong!("12.1", rejects_ids_beyond_the_table, "An id beyond the table is replaced by the last row; return an error.",
        embed: |table, ids| of_other(table, ids, |id, categories| id.min(categories - 1))),
    wrong!("12.1", rejects_ids_beyond_the_table, "An id beyond the table is replaced by its remainder; return an error.",
        embed: |table, ids| of_other(table, ids, |id, categories| id % categories)),
    wrong!("12.1", rejects_ids_beyond_the_table, "Ids beyond the table are left out; return an error.",
    embed: |table, ids| {
        let categories = table.dim(0)? as u32;
        let known: Vec<u32> = ids.iter().copied().filter(|&id| id < categories).collect();
        (REFERENCE.embed)(table, &known)
    }),
    wrong!("12.1", rejects_ids_beyond_the_table, "The last category is refused: an id may be `categories` − 1.",
    embed: |table, ids| {
        let categories = table.dim(0)? as u32;
        if categories > 1 && ids.contains(&(categories - 1)) && ids.contains(&0) && ids.len() == 2 { bail!("no such id"); }
        (REFERENCE.embed)(table, ids)
    }),
    wrong!("12.1", rejects_ids_beyond_the_table, "An unknown id panics; return an error.",
    embed: |table, ids| {
        let categories = table.dim(0)? as u32;
        assert!(ids.iter().all(|&id| id < categories), "no such id");
        (REFERENCE.embed)(table, ids)
    }),
];

/// The right gradient, changed.
fn changed(
    ids: &[u32],
    grad: &Tensor,
    change: impl Fn(SparseGradient) -> Result<SparseGradient>,
) -> Result<SparseGradient> {
    change((REFERENCE.embedding_gradient)(ids, grad)?)
}

/// With other rows, the sums as they are.
fn with_rows(ids: &[u32], grad: &Tensor, rows: fn(&[u32]) -> Vec<u32>) -> Result<SparseGradient> {
    changed(ids, grad, |right| {
        Ok(SparseGradient {
            rows: rows(ids),
            ..right
        })
    })
}

pub const GRADIENT: &[Mistake<Lesson12>] = &[
    wrong!("12.1", lists_each_id_once_in_order, "The rows are in the order of their first occurrence; sort them.",
        embedding_gradient: |ids, grad| gathered(ids, grad, Gather { rows: as_they_occur, ..GATHER })),
    wrong!("12.1", lists_each_id_once_in_order, "The rows are the ids as they are; each id must be in them once, with the sum of its gradients.",
        embedding_gradient: |ids, grad| Ok(SparseGradient { rows: ids.to_vec(), ..(REFERENCE.embedding_gradient)(ids, grad)? })),
    wrong!("12.1", lists_each_id_once_in_order, "The ids are sorted, but repeated ones remain: `dedup` merges them.",
    embedding_gradient: |ids, grad| with_rows(ids, grad, sorted_ids)),
    wrong!("12.1", lists_each_id_once_in_order, "`dedup` only merges neighbours: sort first.",
    embedding_gradient: |ids, grad| with_rows(ids, grad, |ids| {
        let mut rows = ids.to_vec();
        rows.dedup();
        rows
    })),
    wrong!("12.1", lists_each_id_once_in_order, "`dedup` only merges neighbours, and `partition_point` needs a sorted list: sort first.",
    embedding_gradient: |ids, grad| {
        let right = (REFERENCE.embedding_gradient)(ids, grad)?;
        let mut rows = ids.to_vec();
        rows.dedup();
        if rows.is_empty() { return Ok(right); }
        let places: Vec<u32> = ids.iter().map(|id| rows.partition_point(|row| row < id) as u32).collect();
        let zeros = Tensor::zeros((rows.len(), grad.dim(1)?), grad.dtype(), grad.device())?;
        let values = zeros.index_add(&Tensor::new(places, grad.device())?, &grad.contiguous()?, 0)?;
        Ok(SparseGradient { rows, values })
    }),
    wrong!("12.1", lists_each_id_once_in_order, "The rows descend; they must ascend.",
    embedding_gradient: |ids, grad| gathered(ids, grad, Gather { rows: |ids| once(ids).into_iter().rev().collect(), ..GATHER })),
    wrong!("12.1", lists_each_id_once_in_order, "`rows` has all rows up to the greatest id; only those of `ids` have a gradient.",
    embedding_gradient: |ids, grad| gathered(ids, grad, Gather { rows: |ids| (0..ids.iter().max().map_or(0, |m| m + 1)).collect(), ..GATHER })),
    wrong!("12.1", lists_each_id_once_in_order, "A row whose gradients add up to 0 is left out; it was looked up, so it belongs to the result.",
    embedding_gradient: |ids, grad| {
        let right = (REFERENCE.embedding_gradient)(ids, grad)?;
        let sums: Vec<Vec<f64>> = right.values.to_dtype(DType::F64)?.to_vec2()?;
        let kept: Vec<u32> = (0..sums.len()).filter(|&i| sums[i].iter().any(|&g| g != 0.0)).map(|i| i as u32).collect();
        if kept.len() == sums.len() { return Ok(right); }
        let rows = kept.iter().map(|&i| right.rows[i as usize]).collect();
        let values = right.values.index_select(&Tensor::new(kept, grad.device())?, 0)?;
        Ok(SparseGradient { rows, values })
    }),
    wrong!("12.1", lists_each_id_once_in_order, "`rows` has positions in `ids`; it must have the ids themselves.",
    embedding_gradient: |ids, grad| with_rows(ids, grad, |ids| (0..once(ids).len() as u32).collect())),
    wrong!("12.1", sums_the_rows_of_each_id, "The last gradient of a repeated id replaces the ones before; add them.",
        embedding_gradient: |ids, grad| gathered(ids, grad, Gather { add: |_, g| g, ..GATHER })),
    wrong!("12.1", sums_the_rows_of_each_id, "Only the first gradient of a repeated id counts; add all of them.",
        embedding_gradient: |ids, grad| gathered(ids, grad, Gather { add: |sum, g| if sum == 0.0 { g } else { sum }, ..GATHER })),
    wrong!("12.1", sums_the_rows_of_each_id, "The gradients of a repeated id are averaged; add them.",
        embedding_gradient: |ids, grad| gathered(ids, grad, Gather { finish: |sum, n| sum / n.max(1) as f64, ..GATHER })),
    wrong!("12.1", sums_the_rows_of_each_id, "The sums are divided by the number of ids; the loss has done that, if it is a mean.",
    embedding_gradient: |ids, grad| changed(ids, grad, |right| {
        if ids.is_empty() { return Ok(right); }
        Ok(SparseGradient { values: (right.values / ids.len() as f64)?, ..right })
    })),
    wrong!("12.1", sums_the_rows_of_each_id, "The sums are in the order of the ids' first occurrence, the rows in ascending order: sum i belongs to `rows[i]`.",
    embedding_gradient: |ids, grad| {
        let sums = gathered(ids, grad, Gather { rows: as_they_occur, ..GATHER })?;
        Ok(SparseGradient { rows: once(ids), ..sums })
    }),
    wrong!("12.1", sums_the_rows_of_each_id, "A sum is multiplied by how often its id occurs.",
        embedding_gradient: |ids, grad| gathered(ids, grad, Gather { finish: |sum, n| sum * n as f64, ..GATHER })),
    wrong!("12.1", sums_the_rows_of_each_id, "The gradients of a repeated id are multiplied; add them.",
        embedding_gradient: |ids, grad| gathered(ids, grad, Gather { add: |sum, g| if sum == 0.0 { g } else { sum * g }, ..GATHER })),
    wrong!("12.1", sums_the_rows_of_each_id, "The greatest gradient of a repeated id is kept; add them.",
        embedding_gradient: |ids, grad| gathered(ids, grad, Gather { add: |sum, g| if sum == 0.0 { g } else { sum.max(g) }, ..GATHER })),
    wrong!("12.1", sums_the_rows_of_each_id, "The sums are negative: a gradient is not yet a step.",
        embedding_gradient: |ids, grad| changed(ids, grad, |right| Ok(SparseGradient { values: right.values.neg()?, ..right }))),
    wrong!("12.1", sums_the_rows_of_each_id, "The sums are one list; `values` is [rows.len(), width].",
        embedding_gradient: |ids, grad| changed(ids, grad, |right| Ok(SparseGradient { values: right.values.flatten_all()?, ..right }))),
    wrong!("12.1", sums_the_rows_of_each_id, "`values` has a row for each id; it must have one for each different id, with the sum.",
        embedding_gradient: |ids, grad| changed(ids, grad, |right| Ok(SparseGradient { values: grad.clone(), ..right }))),
    wrong!("12.1", keeps_the_dtype_of_the_gradient, "`values` is f32; it has the dtype of `grad`.",
    embedding_gradient: |ids, grad| changed(ids, grad, |right| Ok(SparseGradient { values: right.values.to_dtype(DType::F32)?, ..right }))),
    wrong!("12.1", keeps_the_dtype_of_the_gradient, "The sums are computed in f32; f64 has more digits.",
    embedding_gradient: |ids, grad| {
        let right = (REFERENCE.embedding_gradient)(ids, &grad.to_dtype(DType::F32)?)?;
        Ok(SparseGradient { values: right.values.to_dtype(grad.dtype())?, ..right })
    }),
    wrong!("12.1", keeps_the_dtype_of_the_gradient, "The gradient is read as f32, and f64 is an error; read it in its own dtype, or use operators of tensors.",
    embedding_gradient: |ids, grad| {
        if !ids.is_empty() { grad.flatten_all()?.to_vec1::<f32>()?; }
        (REFERENCE.embedding_gradient)(ids, grad)
    }),
    wrong!("12.1", sums_a_transposed_gradient, "candle's `index_add` requires a contiguous tensor: call `contiguous` first.",
    embedding_gradient: |ids, grad| {
        let right = (REFERENCE.embedding_gradient)(ids, grad)?;
        if ids.is_empty() { return Ok(right); }
        let places: Vec<u32> = ids.iter().map(|id| right.rows.partition_point(|row| row < id) as u32).collect();
        let values = right.values.zeros_like()?.index_add(&Tensor::new(places, grad.device())?, grad, 0)?;
        Ok(SparseGradient { values, ..right })
    }),
    wrong!("12.1", returns_no_gradient_without_ids, "Tensors of an empty list cannot be concatenated or stacked; without ids, `values` is zeros of shape [0, width].",
    embedding_gradient: |ids, grad| {
        let right = (REFERENCE.embedding_gradient)(ids, grad)?;
        let sums = (0..right.rows.len()).map(|i| right.values.get(i)).collect::<Result<Vec<_>>>()?;
        Ok(SparseGradient { values: Tensor::stack(&sums, 0)?, ..right })
    }),
    wrong!("12.1", returns_no_gradient_without_ids, "Without ids, `values` has the shape [0]; return [0, width].",
    embedding_gradient: |ids, grad| changed(ids, grad, |right| {
        if !right.rows.is_empty() { return Ok(right); }
        Ok(SparseGradient { values: Tensor::zeros(0, grad.dtype(), grad.device())?, ..right })
    })),
    wrong!("12.1", returns_no_gradient_without_ids, "No ids are taken for an error; return no rows.",
    embedding_gradient: |ids, grad| {
        if ids.is_empty() { bail!("no ids"); }
        (REFERENCE.embedding_gradient)(ids, grad)
    }),
    wrong!("12.1", rejects_a_gradient_with_other_rows, "`zip` stops at the shorter list: test whether `grad` has one row for each id.",
    embedding_gradient: |ids, grad| {
        let (count, width) = grad.dims2()?;
        if count == ids.len() { return (REFERENCE.embedding_gradient)(ids, grad); }
        summed(ids, grad, width, GATHER)
    }),
    wrong!("12.1", rejects_a_gradient_with_other_rows, "More rows than ids are ignored; return an error.",
    embedding_gradient: |ids, grad| {
        let count = grad.dim(0)?;
        if count > ids.len() { return (REFERENCE.embedding_gradient)(ids, &grad.narrow(0, 0, ids.len())?); }
        (REFERENCE.embedding_gradient)(ids, grad)
    }),
    wrong!("12.1", rejects_a_gradient_with_other_rows, "Without ids, the number of rows is not tested: `grad` must have none.",
    embedding_gradient: |ids, grad| {
        if ids.is_empty() { return (REFERENCE.embedding_gradient)(ids, &grad.narrow(0, 0, 0)?); }
        (REFERENCE.embedding_gradient)(ids, grad)
    }),
    wrong!("12.1", rejects_a_gradient_with_other_rows, "A wrong number of rows panics; return an error.",
    embedding_gradient: |ids, grad| {
        assert_eq!(grad.dim(0)?, ids.len());
        (REFERENCE.embedding_gradient)(ids, grad)
    }),
];

fn sorted_ids(ids: &[u32]) -> Vec<u32> {
    let mut rows = ids.to_vec();
    rows.sort_unstable();
    rows
}
