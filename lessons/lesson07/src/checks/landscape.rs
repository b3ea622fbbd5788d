use candle_core::{Device, Result, Tensor, Var, bail};
use grader::{Case, Draw, Values, Verdict, draw, given};

use super::values;
use crate::Lesson07;

const SHAPES: [&[usize]; 3] = [&[3, 4], &[5], &[2, 2, 3]];

struct Place {
    params: Vec<Var>,
    directions: Vec<Tensor>,
    /// Weights and directions as they were drawn.
    start: Vec<Vec<f64>>,
    ways: Vec<Vec<f64>>,
}

impl Place {
    fn new(draw: &mut Draw, empty: bool) -> Result<Self> {
        let (mut params, mut directions, mut start, mut ways) = (vec![], vec![], vec![], vec![]);
        for shape in SHAPES {
            let count = shape.iter().product();
            let (w, mut d) = (draw.list(count, -0.5, 1.5), draw.list(count, -2.0, 1.0));
            if empty {
                let filter = count / shape[0];
                d[..filter].fill(0.0);
            }
            params.push(Var::from_slice(&w, shape, &Device::Cpu)?);
            directions.push(Tensor::from_slice(&d, shape, &Device::Cpu)?);
            start.push(w.iter().map(|&x| f64::from(x)).collect());
            ways.push(d.iter().map(|&x| f64::from(x)).collect());
        }
        Ok(Self {
            params,
            directions,
            start,
            ways,
        })
    }

    fn given(&self, alphas: &[f64], more: &str) -> Case {
        given(format!(
            "parameters [3, 4], [5] and [2, 2, 3], alphas {alphas:?}{more}; the first filter is {:.3?}, its direction {:.3?}",
            &self.start[0][..4],
            &self.ways[0][..4]
        ))
    }

    /// w + α·d of parameter `i`, filter by filter.
    fn at(&self, i: usize, alpha: f64) -> Vec<f64> {
        let (w, d) = (&self.start[i], &self.ways[i]);
        if SHAPES[i].len() < 2 {
            return w.clone();
        }
        let size = w.len() / SHAPES[i][0];
        let length = |list: &[f64]| list.iter().map(|x| x * x).sum::<f64>().sqrt();
        let filters = w.chunks(size).zip(d.chunks(size));
        filters
            .flat_map(|(w, d)| {
                let own = length(d);
                let stretch = if own > 0.0 { length(w) / own } else { 0.0 };
                w.iter()
                    .zip(d)
                    .map(move |(w, d)| w + alpha * stretch * d)
                    .collect::<Vec<_>>()
            })
            .collect()
    }

    /// The parameters at each call of `loss`.
    fn walk(&self, answer: &Lesson07, alphas: &[f64]) -> Result<Vec<Vec<Values>>> {
        let mut seen = Vec::new();
        (answer.loss_along)(&self.params, &self.directions, alphas, &mut || {
            seen.push(
                self.params
                    .iter()
                    .map(|p| values(p))
                    .collect::<Result<Vec<_>>>()?,
            );
            Ok(seen.len() as f64)
        })?;
        Ok(seen)
    }

    fn check(&self, case: &Case, seen: &[Vec<Values>], alphas: &[f64], which: &[usize]) -> Verdict {
        case.close("calls of loss", seen.len(), alphas.len())?;
        for (look, &alpha) in seen.iter().zip(alphas) {
            for &i in which {
                let expected = Values::tensor(self.at(i, alpha), SHAPES[i], "f32");
                case.close(
                    &format!("parameter {} at alpha {alpha}", i + 1),
                    look[i].clone(),
                    expected,
                )?;
            }
        }
        Ok(())
    }

    fn check_bits(&self, case: &Case) -> Verdict {
        for (i, (param, start)) in self.params.iter().zip(&self.start).enumerate() {
            let off = values(param)?
                .numbers
                .iter()
                .zip(start)
                .filter(|(a, b)| a != b)
                .count();
            let said = format!("{off} of {} numbers are others than before", start.len());
            case.require(&format!("parameter {} afterwards", i + 1), off == 0, said)?;
        }
        Ok(())
    }
}

pub fn normalises_each_filter(answer: &Lesson07) -> Verdict {
    let mut draw = draw();
    let (place, alphas) = (Place::new(&mut draw, false)?, [0.75]);
    let case = place.given(&alphas, "");
    let seen = place.walk(answer, &alphas)?;
    place.check(&case, &seen, &alphas, &[0, 2])
}

pub fn starts_every_step_at_the_weights(answer: &Lesson07) -> Verdict {
    let mut draw = draw();
    let (place, alphas) = (Place::new(&mut draw, false)?, [-0.5, 0.0, 0.25, 1.0]);
    let case = place.given(&alphas, "");
    let seen = place.walk(answer, &alphas)?;
    place.check(&case, &seen, &alphas, &[0, 2])
}

pub fn leaves_vectors_unchanged(answer: &Lesson07) -> Verdict {
    let mut draw = draw();
    let (place, alphas) = (Place::new(&mut draw, false)?, [0.5]);
    let case = place.given(&alphas, "; the second one, a vector, is looked at");
    let seen = place.walk(answer, &alphas)?;
    place.check(&case, &seen, &alphas, &[1])
}

pub fn accepts_a_filter_of_zeros(answer: &Lesson07) -> Verdict {
    let mut draw = draw();
    let (place, alphas) = (Place::new(&mut draw, true)?, [0.5]);
    let case = place.given(&alphas, "; each first filter of the directions is 0");
    let seen = place.walk(answer, &alphas)?;
    place.check(&case, &seen, &alphas, &[0, 2])
}

pub fn returns_the_losses_in_order(answer: &Lesson07) -> Verdict {
    let mut draw = draw();
    let place = Place::new(&mut draw, false)?;
    let alphas = [0.5, -1.0, 0.0, 2.0, 1.0];
    let case = place.given(
        &alphas,
        ", the loss being the sum of the first parameter's squares",
    );
    let got = (answer.loss_along)(&place.params, &place.directions, &alphas, &mut || {
        let numbers = values(&place.params[0])?.numbers;
        Ok(numbers.iter().map(|x| x * x).sum())
    })?;
    // Read from an f32 parameter: as near as that.
    let sum = |alpha: f64| place.at(0, alpha).iter().map(|x| x * x).sum::<f64>();
    let list = |numbers: Vec<f64>| Values::tensor(numbers, &[5], "f32");
    let count = got.len();
    case.close("number of losses", count, 5usize)?;
    case.close("losses", list(got), list(alphas.into_iter().map(sum).collect()))
}

pub fn restores_parameters_bit_identically(answer: &Lesson07) -> Verdict {
    let mut draw = draw();
    let place = Place::new(&mut draw, false)?;
    let alphas = [0.1, 0.2, 0.7, 1000.0 * draw.number(1.0, 2.0)];
    let case = place.given(&alphas, "");
    place.walk(answer, &alphas)?;
    place.check_bits(&case)
}

pub fn restores_parameters_after_an_error(answer: &Lesson07) -> Verdict {
    let mut draw = draw();
    let (place, alphas) = (Place::new(&mut draw, false)?, [0.3, 0.6, 0.9]);
    let case = place.given(&alphas, ", the second loss failing");
    let mut looks = 0;
    let got = (answer.loss_along)(&place.params, &place.directions, &alphas, &mut || {
        looks += 1;
        if looks == 2 {
            bail!("out of memory");
        }
        Ok(1.0)
    });
    place.check_bits(&case)?;
    case.require("result", got.is_err(), "Ok")
}
