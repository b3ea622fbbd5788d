use candle_core::{Device, Result, Tensor, Var};
use grader::{Draw, Verdict, draw, given};

use super::{Loss, expected, values, wide};
use crate::Lesson02;

/// A layer and what it is given.
struct Given {
    x: Var,
    w: Var,
    b: Var,
    /// Clouds, points, channels in and out.
    sizes: [usize; 4],
}

impl Given {
    fn new(draw: &mut Draw, sizes: [usize; 4]) -> Result<Self> {
        let [clouds, points, input, output] = sizes;
        let var = |list: Vec<f32>, shape: &[usize]| Var::from_slice(&list, shape, &Device::Cpu);
        Ok(Self {
            x: var(
                draw.list(clouds * points * input, -1.0, 1.0),
                &[clouds, points, input],
            )?,
            w: var(draw.list(output * input, -1.0, 1.0), &[output, input])?,
            b: var(draw.list(output, -0.4, 0.4), &[output])?,
            sizes,
        })
    }

    fn case(&self) -> Result<grader::Case> {
        let [clouds, points, input, output] = self.sizes;
        let show = |t: &Tensor| -> Result<String> { Ok(format!("{:?}", t.flatten_all()?.to_vec1::<f32>()?)) };
        Ok(given(format!(
            "x [{clouds}, {points}, {input}] {}, w [{output}, {input}] {}, b {}",
            show(&self.x)?,
            show(&self.w)?,
            show(&self.b)?
        ))
        .at_scale(1.0))
    }

    fn call(&self, answer: &Lesson02) -> Result<Tensor> {
        (answer.shared_layer)(&self.x, &self.w, &self.b)
    }

    fn numbers(&self) -> Result<[Vec<f64>; 3]> {
        let list = |t: &Tensor| -> Result<Vec<f64>> { Ok(wide(&t.flatten_all()?.to_vec1::<f32>()?)) };
        Ok([list(&self.x)?, list(&self.w)?, list(&self.b)?])
    }

    /// Before the cut: row after row, `[clouds × points, out]`.
    fn sums(&self) -> Result<Vec<f64>> {
        let [_, _, input, output] = self.sizes;
        let [x, w, b] = self.numbers()?;
        let mut sums = Vec::new();
        for row in x.chunks(input) {
            for o in 0..output {
                sums.push(b[o] + (0..input).map(|i| row[i] * w[o * input + i]).sum::<f64>());
            }
        }
        Ok(sums)
    }

    fn check(&self, answer: &Lesson02) -> Verdict {
        let [clouds, points, _, output] = self.sizes;
        let case = self.case()?;
        let numbers = self.sums()?.into_iter().map(|s| s.max(0.0)).collect();
        case.close(
            "result",
            values(&self.call(answer)?)?,
            expected(numbers, &[clouds, points, output]),
        )
    }
}

pub fn applies_the_same_layer_to_every_point(answer: &Lesson02) -> Verdict {
    let mut draw = draw();
    let points = draw.whole(4, 5);
    Given::new(&mut draw, [1, points, 3, 2])?.check(answer)?;
    // As many channels out as in, so that a weight the wrong way round has a shape that fits.
    Given::new(&mut draw, [1, 2, 3, 3])?.check(answer)
}

pub fn adds_the_bias_before_relu(answer: &Lesson02) -> Verdict {
    let mut draw = draw();
    let mut layer = Given::new(&mut draw, [1, 3, 2, 4])?;
    let bias =
        [(-1.9, -1.5), (0.8, 1.2), (-0.8, -0.4), (2.0, 2.5)].map(|(low, high)| draw.list(1, low, high)[0]);
    layer.b = Var::from_slice(&bias, 4, &Device::Cpu)?;
    layer.check(answer)
}

pub fn preserves_clouds_and_points(answer: &Lesson02) -> Verdict {
    let mut draw = draw();
    let (clouds, points) = (draw.whole(2, 3), draw.whole(4, 5));
    Given::new(&mut draw, [clouds, points, 2, 3])?.check(answer)?;
    Given::new(&mut draw, [3, 1, 2, 5])?.check(answer)
}

pub fn has_gradients_for_all_inputs(answer: &Lesson02) -> Verdict {
    let mut draw = draw();
    let sizes = [2, 3, 3, 4];
    let layer = Given::new(&mut draw, sizes)?;
    let loss = Loss::new(&mut draw, &[2, 3, 4]);
    let case = layer.case()?;
    let result = layer.call(answer)?;
    let [x, w, _] = layer.numbers()?;
    let (mut of_x, mut of_w, mut of_b) = (vec![0.0; x.len()], vec![0.0; w.len()], vec![0.0; 4]);
    for (at, &sum) in layer.sums()?.iter().enumerate() {
        let (row, o) = (at / 4, at % 4);
        let slope = if sum > 0.0 { loss.weights[at] } else { 0.0 };
        of_b[o] += slope;
        for i in 0..3 {
            of_x[row * 3 + i] += slope * w[o * 3 + i];
            of_w[o * 3 + i] += slope * x[row * 3 + i];
        }
    }
    loss.check(&case, "gradient of w", &result, &layer.w, of_w)?;
    loss.check(&case, "gradient of b", &result, &layer.b, of_b)?;
    loss.check(&case, "gradient of x", &result, &layer.x, of_x)
}
