use candle_core::{Device, Result, Tensor, Var};
use grader::{Draw, Verdict, draw, given};

use super::{Input, Loss, values};
use crate::Lesson02;

/// A layer and what it is given.
struct Given {
    x: Input,
    w: Input,
    b: Input,
    /// Clouds, points, channels in and out.
    sizes: [usize; 4],
}

impl Given {
    fn new(draw: &mut Draw, sizes: [usize; 4]) -> Self {
        let [clouds, points, input, output] = sizes;
        let x = draw.list(clouds * points * input, -1.0, 1.0);
        Self {
            x: Input::new(&x, &[clouds, points, input]),
            w: Input::new(&draw.list(output * input, -1.0, 1.0), &[output, input]),
            b: Input::new(&draw.list(output, -0.4, 0.4), &[output]),
            sizes,
        }
    }

    fn case(&self) -> grader::Case {
        let [x, w, b] =
            [(&self.x, "x"), (&self.w, "w"), (&self.b, "b")].map(|(input, name)| input.text(name));
        given(format!("{x}, {w}, {b}")).at_scale(1.0)
    }

    fn vars(&self) -> Result<[Var; 3]> {
        Ok([self.x.var()?, self.w.var()?, self.b.var()?])
    }

    /// Before the cut: row after row, `[clouds × points, out]`.
    fn sums(&self) -> Vec<f64> {
        let [_, _, input, output] = self.sizes;
        let (x, w, b) = (&self.x.numbers, &self.w.numbers, &self.b.numbers);
        let mut sums = Vec::new();
        for row in x.chunks(input) {
            for o in 0..output {
                sums.push(b[o] + (0..input).map(|i| row[i] * w[o * input + i]).sum::<f64>());
            }
        }
        sums
    }

    fn check(&self, answer: &Lesson02) -> Verdict {
        let [clouds, points, _, output] = self.sizes;
        let case = self.case();
        let numbers = self.sums().into_iter().map(|s| s.max(0.0)).collect();
        let [x, w, b] = self.vars()?;
        let got = (answer.shared_layer)(&x, &w, &b)?;
        let expected = self.x.expected(numbers, &[clouds, points, output]);
        case.close("result", values(&got)?, expected)
    }
}

pub fn applies_the_same_layer_to_every_point(answer: &Lesson02) -> Verdict {
    let mut draw = draw();
    Given::new(&mut draw, [2, 3, 2, 3]).check(answer)?;
    // As many channels out as in, so that a weight the wrong way round has a shape that fits.
    Given::new(&mut draw, [2, 2, 3, 3]).check(answer)
}

pub fn adds_the_bias_before_relu(answer: &Lesson02) -> Verdict {
    let mut draw = draw();
    let mut layer = Given::new(&mut draw, [2, 3, 2, 4]);
    let bias =
        [(-1.9, -1.5), (0.8, 1.2), (-0.8, -0.4), (2.0, 2.5)].map(|(low, high)| draw.list(1, low, high)[0]);
    layer.b = Input::new(&bias, &[4]);
    layer.check(answer)
}

pub fn keeps_values_above_0(answer: &Lesson02) -> Verdict {
    let mut draw = draw();
    for size in [1.0, 0.01, 1000.0, 1e6] {
        let mut layer = Given::new(&mut draw, [2, 2, 2, 2]);
        layer.x = Input::new(&draw.list(8, 0.5 * size, size), &[2, 2, 2]);
        layer.w = Input::new(&draw.list(4, 0.5, 1.0), &[2, 2]);
        layer.b = Input::new(&[0.0, 0.0], &[2]);
        layer.check(answer)?;
    }
    Ok(())
}

pub fn preserves_clouds_and_points(answer: &Lesson02) -> Verdict {
    let mut draw = draw();
    let (clouds, points) = (draw.whole(2, 3), draw.whole(4, 5));
    for sizes in [
        [clouds, points, 2, 3],
        [3, 1, 2, 4],
        [1, 3, 2, 4],
        [2, 3, 1, 2],
        [2, 3, 2, 1],
    ] {
        Given::new(&mut draw, sizes).check(answer)?;
    }
    Given::new(&mut draw, [1, 1, 1, 1]).check(answer)
}

pub fn has_gradients_for_all_inputs(answer: &Lesson02) -> Verdict {
    let mut draw = draw();
    let [clouds, points, input, output] = [2, 3, 2, 3];
    let layer = Given::new(&mut draw, [clouds, points, input, output]);
    let loss = Loss::new(&mut draw, &[clouds, points, output]);
    let case = layer.case();
    let vars = layer.vars()?;
    let result = (answer.shared_layer)(&vars[0], &vars[1], &vars[2])?;
    let (x, w) = (&layer.x.numbers, &layer.w.numbers);
    let (mut of_x, mut of_w, mut of_b) = (vec![0.0; x.len()], vec![0.0; w.len()], vec![0.0; output]);
    for (at, &sum) in layer.sums().iter().enumerate() {
        let (row, o) = (at / output, at % output);
        let slope = if sum > 0.0 { loss.weights[at] } else { 0.0 };
        of_b[o] += slope;
        for i in 0..input {
            of_x[row * input + i] += slope * w[o * input + i];
            of_w[o * input + i] += slope * x[row * input + i];
        }
    }
    loss.check(&case, "gradient of w", &result, &vars[1], of_w)?;
    loss.check(&case, "gradient of b", &result, &vars[2], of_b)?;
    loss.check(&case, "gradient of x", &result, &vars[0], of_x)
}

pub fn computes_in_the_dtype_of_its_inputs(answer: &Lesson02) -> Verdict {
    let layer = Given::new(&mut draw(), [2, 3, 2, 3]);
    let (x, w, b) = (layer.x.in_f64(), layer.w.in_f64(), layer.b.in_f64());
    Given { x, w, b, ..layer }.check(answer)
}

/// How many tensors exist that did not exist before `run`. candle numbers all tensors of the process, so others that run at
/// the same time may count as well.
fn created(run: impl FnOnce() -> Result<Tensor>) -> Result<usize> {
    let number = || -> Result<usize> {
        let id = format!("{:?}", Tensor::new(0f32, &Device::Cpu)?.id());
        let digits: String = id.chars().filter(char::is_ascii_digit).collect();
        Ok(digits.parse().unwrap_or_default())
    };
    let before = number()?;
    run()?;
    Ok(number()? - before)
}

pub fn computes_all_points_in_one_product(answer: &Lesson02) -> Verdict {
    let many = 150;
    let mut draw = draw();
    for (clouds, points, each) in [(many, 2, "clouds"), (2, many, "points")] {
        let [x, w, b] = Given::new(&mut draw, [clouds, points, 2, 2]).vars()?;
        let case = given(format!("x [{clouds}, {points}, 2], w [2, 2], b [2]"));
        // A loop creates two tensors or more in each round. The least of several counts is free of what others create.
        let mut counts = (0..10).map(|_| created(|| (answer.shared_layer)(&x, &w, &b)));
        let few = counts.find(|count| count.as_ref().map_or(true, |&count| count < many));
        let few = few.transpose()?.is_some();
        let result = format!("more than one for each of the {each}: there is a loop");
        case.require("number of candle's operations", few, &result)?;
    }
    Ok(())
}
