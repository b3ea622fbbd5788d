//! Known wrong answers to exercise 2.2.

use super::*;

pub const MISTAKES: &[Mistake<Lesson02>] = &[
    wrong!("2.2", applies_the_same_layer_to_every_point,
        "The weight is not transposed: w is [out, in], and rows of points are multiplied by [in, out].",
    shared_layer: |x, w, b| {
        let (clouds, points, _) = x.dims3()?;
        relu(&x.flatten_to(1)?.matmul(w)?.reshape((clouds, points, ()))?.broadcast_add(b)?)
    }),
    wrong!("2.2", applies_the_same_layer_to_every_point,
        "x has three axes and w has two: make one matrix of all points first.",
        shared_layer: |x, w, b| relu(&x.matmul(&w.t()?)?.broadcast_add(b)?)),
    wrong!("2.2", applies_the_same_layer_to_every_point, "`+` requires equal shapes; `broadcast_add` adds the bias to every row.",
        shared_layer: |x, w, b| relu(&(x.flatten_to(1)?.matmul(&w.t()?)? + b)?)),
    wrong!("2.2", applies_the_same_layer_to_every_point, "The bias is left out.",
        shared_layer: |x, w, _| relu(&rows_times(x, w)?)),
    wrong!("2.2", adds_the_bias_before_relu, "The ReLU is missing: values below 0 remain.",
        shared_layer: |x, w, b| rows_times(x, w)?.broadcast_add(b)),
    wrong!("2.2", adds_the_bias_before_relu, "The bias is added after the ReLU; the ReLU comes last.",
        shared_layer: |x, w, b| relu(&rows_times(x, w)?)?.broadcast_add(b)),
    wrong!("2.2", adds_the_bias_before_relu, "This is the absolute value; ReLU turns values below 0 into 0.",
        shared_layer: |x, w, b| rows_times(x, w)?.broadcast_add(b)?.abs()),
    wrong!("2.2", applies_the_same_layer_to_every_point, "The ReLU is applied to the input; apply it to the output.",
        shared_layer: |x, w, b| rows_times(&relu(x)?, w)?.broadcast_add(b)),
    wrong!("2.2", preserves_clouds_and_points,
        "The result is [clouds × points, out]; reshape it to [clouds, points, out].",
        shared_layer: |x, w, b| (REFERENCE.shared_layer)(x, w, b)?.flatten_to(1)),
    wrong!("2.2", applies_the_same_layer_to_every_point,
        "The matrix is reshaped instead of transposed: the numbers of several points are mixed.",
    shared_layer: |x, w, b| {
        let (clouds, points, _) = x.dims3()?;
        let columns = w.matmul(&x.flatten_to(1)?.t()?)?;
        relu(&columns.reshape((clouds, points, ()))?.broadcast_add(b)?)
    }),
    wrong!("2.2", preserves_clouds_and_points, "Only the first cloud goes through the layer.",
        shared_layer: |x, w, b| (REFERENCE.shared_layer)(&x.narrow(0, 0, 1)?, w, b)),
    wrong!("2.2", has_gradients_for_all_inputs, "The points were detached, or converted to numbers: no gradient reaches x.",
        shared_layer: |x, w, b| (REFERENCE.shared_layer)(&x.detach(), w, b)),
    wrong!("2.2", has_gradients_for_all_inputs, "The bias was detached, or converted to numbers: no gradient reaches b.",
        shared_layer: |x, w, b| (REFERENCE.shared_layer)(x, w, &b.detach())),
    wrong!("2.2", has_gradients_for_all_inputs,
        "The weight was detached, or converted to numbers: no gradient reaches it.",
        shared_layer: |x, w, b| (REFERENCE.shared_layer)(x, &w.detach(), b)),
    wrong!("2.2", applies_the_same_layer_to_every_point,
        "The weight is reshaped to [in, out], which mixes the numbers of several neurons; `w.t()` transposes it.",
    shared_layer: |x, w, b| {
        let (out, input) = w.dims2()?;
        (REFERENCE.shared_layer)(x, &w.reshape((input, out))?.t()?.contiguous()?, b)
    }),
    wrong!("2.2", applies_the_same_layer_to_every_point, "A square weight is not transposed; w is [out, in], even if the two are equal.",
        shared_layer: |x, w, b| (REFERENCE.shared_layer)(x, &if w.dim(0)? == w.dim(1)? { w.t()?.contiguous()? } else { w.clone() }, b)),
    wrong!("2.2", applies_the_same_layer_to_every_point,
        "The rows are split into [points, clouds, out]: they go to other clouds. They are in the order [clouds, points].",
    shared_layer: |x, w, b| {
        let (clouds, points, _) = x.dims3()?;
        (REFERENCE.shared_layer)(x, w, b)?.reshape((points, clouds, ()))?.transpose(0, 1)?.contiguous()
    }),
    wrong!("2.2", applies_the_same_layer_to_every_point, "The bias is subtracted; add it.",
        shared_layer: |x, w, b| (REFERENCE.shared_layer)(x, w, &b.neg()?)),
    wrong!("2.2", applies_the_same_layer_to_every_point, "The ReLU is applied twice, before the bias and after it; it comes last only.",
        shared_layer: |x, w, b| relu(&relu(&rows_times(x, w)?)?.broadcast_add(b)?)),
    wrong!("2.2", applies_the_same_layer_to_every_point, "This is a leaky ReLU: values below 0 become smaller, but not 0.",
    shared_layer: |x, w, b| {
        let y = rows_times(x, w)?.broadcast_add(b)?;
        y.maximum(&(&y * 0.01)?)
    }),
    wrong!("2.2", applies_the_same_layer_to_every_point, "The activation is GELU, not ReLU.",
        shared_layer: |x, w, b| rows_times(x, w)?.broadcast_add(b)?.gelu()),
    wrong!("2.2", applies_the_same_layer_to_every_point, "The activation is GELU, not ReLU.",
        shared_layer: |x, w, b| rows_times(x, w)?.broadcast_add(b)?.gelu_erf()),
    wrong!("2.2", applies_the_same_layer_to_every_point, "The activation is SiLU, not ReLU.",
        shared_layer: |x, w, b| rows_times(x, w)?.broadcast_add(b)?.silu()),
    wrong!("2.2", applies_the_same_layer_to_every_point, "This keeps values below 0 and cuts those above; ReLU does the opposite.",
        shared_layer: |x, w, b| rows_times(x, w)?.broadcast_add(b)?.minimum(0f32)),
    wrong!("2.2", applies_the_same_layer_to_every_point, "The values are normalised over the batch; batch norm is already part of w and b.",
    shared_layer: |x, w, b| {
        let y = rows_times(x, w)?.flatten_to(1)?;
        let y = y.broadcast_sub(&y.mean_keepdim(0)?)?;
        let y = y.broadcast_div(&(y.sqr()?.mean_keepdim(0)? + 1e-5)?.sqrt()?)?;
        relu(&y.broadcast_add(b)?)?.reshape((x.dim(0)?, x.dim(1)?, ()))
    }),
    wrong!("2.2", applies_the_same_layer_to_every_point, "The activation is tanh, not ReLU.",
        shared_layer: |x, w, b| rows_times(x, w)?.broadcast_add(b)?.tanh()),
    wrong!("2.2", applies_the_same_layer_to_every_point, "The activation is the sigmoid, not ReLU.",
        shared_layer: |x, w, b| (rows_times(x, w)?.broadcast_add(b)?.neg()?.exp()? + 1.0)?.recip()),
    wrong!("2.2", applies_the_same_layer_to_every_point, "The bias is added along the axis of the points; it has a number for each channel, the last axis.",
        shared_layer: |x, w, b| relu(&rows_times(x, w)?.broadcast_add(&b.reshape((1, (), 1))?)?)),
    wrong!("2.2", keeps_values_above_0, "Large values are cut off; ReLU has no upper limit.",
        shared_layer: |x, w, b| rows_times(x, w)?.broadcast_add(b)?.clamp(0f32, 6f32)),
    wrong!("2.2", keeps_values_above_0, "Large values are cut off; ReLU has no upper limit.",
        shared_layer: |x, w, b| rows_times(x, w)?.broadcast_add(b)?.clamp(0f32, 1f32)),
    wrong!("2.2", preserves_clouds_and_points, "The axis of the clouds is dropped if there is one cloud; it stays.",
    shared_layer: |x, w, b| {
        let y = (REFERENCE.shared_layer)(x, w, b)?;
        if y.dim(0)? == 1 { y.squeeze(0) } else { Ok(y) }
    }),
    wrong!("2.2", computes_in_the_dtype_of_its_inputs, "The result is f32, whatever the inputs are; compute in `x.dtype()`.",
    shared_layer: |x, w, b| {
        let [x, w, b] = [x, w, b].map(|t| t.to_dtype(DType::F32));
        (REFERENCE.shared_layer)(&x?, &w?, &b?)
    }),
    wrong!("2.2", computes_all_points_in_one_product,
        "A loop computes cloud after cloud, or point after point. Reshape x to one matrix of all points, and multiply once.",
    shared_layer: |x, w, b| {
        let one = |cloud: usize| relu(&x.get(cloud)?.matmul(&w.t()?)?.broadcast_add(b)?);
        Tensor::stack(&(0..x.dim(0)?).map(one).collect::<Result<Vec<_>>>()?, 0)
    }),
    wrong!("2.2", computes_all_points_in_one_product,
        "A loop computes cloud after cloud, or point after point. Reshape x to one matrix of all points, and multiply once.",
    shared_layer: |x, w, b| {
        let one = |point: usize| relu(&x.narrow(1, point, 1)?.squeeze(1)?.contiguous()?.matmul(&w.t()?)?.broadcast_add(b)?);
        Tensor::stack(&(0..x.dim(1)?).map(one).collect::<Result<Vec<_>>>()?, 1)
    }),
    wrong!("2.2", computes_in_the_dtype_of_its_inputs,
        "The layer is computed in f32 and converted back, which leaves seven digits of f64; compute in the dtype of the inputs.",
    shared_layer: |x, w, b| {
        let [a, w, b] = [x, w, b].map(|t| t.to_dtype(DType::F32));
        (REFERENCE.shared_layer)(&a?, &w?, &b?)?.to_dtype(x.dtype())
    }),
    wrong!("2.2", applies_the_same_layer_to_every_point,
        "The matrix is reshaped instead of transposed: the numbers of several points are mixed.",
    shared_layer: |x, w, b| {
        let (clouds, points, _) = x.dims3()?;
        let columns = w.matmul(&x.flatten_to(1)?.t()?)?.broadcast_add(&b.unsqueeze(1)?)?;
        relu(&columns)?.reshape((clouds, points, ()))
    }),
    wrong!("2.2", applies_the_same_layer_to_every_point,
        "Points and channels of x are swapped before the reshape, so that a row has numbers of several points; reshape x as it is.",
    shared_layer: |x, w, b| (REFERENCE.shared_layer)(&x.transpose(1, 2)?.contiguous()?.reshape(x.shape())?, w, b)),
    wrong!("2.2", applies_the_same_layer_to_every_point, "The values are normalised over the batch; batch norm is already part of w and b.",
    shared_layer: |x, w, b| {
        let y = rows_times(x, w)?.broadcast_add(b)?.flatten_to(1)?;
        let y = y.broadcast_sub(&y.mean_keepdim(0)?)?;
        let y = y.broadcast_div(&(y.sqr()?.mean_keepdim(0)? + 1e-5)?.sqrt()?)?;
        relu(&y)?.reshape((x.dim(0)?, x.dim(1)?, ()))
    }),
];
