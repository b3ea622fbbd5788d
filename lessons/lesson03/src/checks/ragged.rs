use candle_core::{DType, Device, Tensor};
use grader::{Case, Draw, Values, Verdict, draw, given, tell::wrap};

use super::{told, unless_to_do};
use crate::Lesson03;

/// Clouds of these lengths; some points are on axes and at the origin.
fn clouds(draw: &mut Draw, lengths: &[usize]) -> Vec<Vec<[f32; 3]>> {
    let mut cloud = |&n: &usize| {
        let mut points = draw.list(3 * n, -9.0, 9.0).as_chunks::<3>().0.to_vec();
        // Neither the first nor the last one, because padding might be a copy of it.
        if let [_, origin, .., _] = &mut points[..] {
            *origin = [0.0; 3];
        }
        if let [_, _, axis, opposite, _, ..] = &mut points[..] {
            (axis[0], opposite[0]) = (0.0, -opposite[1] - opposite[2]);
        }
        points
    };
    lengths.iter().map(&mut cloud).collect()
}

/// The description of a case, its clouds, and the length of the longest.
type Ragged = (Case, Vec<Vec<[f32; 3]>>, usize);

/// Clouds of different lengths: the longest in the middle, last, first; or all equal.
fn cases(draw: &mut Draw) -> Vec<Ragged> {
    let longest = draw.whole(5, 7);
    let short = draw.whole(2, 4);
    [
        vec![short, longest, 1, draw.whole(3, 4)],
        vec![1, short, longest + 4],
        vec![longest, 1, 1, short, 2],
        vec![longest; 3],
    ]
    .into_iter()
    .map(|lengths| {
        let clouds = clouds(draw, &lengths);
        let case = given(format!(
            "clouds of {lengths:?} points; the first begins {:?}",
            clouds[0][0]
        ));
        let longest = lengths.into_iter().max().unwrap_or(0);
        (case, clouds, longest)
    })
    .collect()
}

fn values(tensor: &Tensor) -> candle_core::Result<Values> {
    let numbers = tensor.to_dtype(DType::F64)?.flatten_all()?.to_vec1()?;
    Ok(Values::tensor(numbers, tensor.dims(), tensor.dtype().as_str()))
}

pub fn pads_to_the_longest_cloud(answer: &Lesson03) -> Verdict {
    for (case, clouds, longest) in cases(&mut draw()) {
        shapes(answer, &case, &clouds, longest)?;
    }
    Ok(())
}

pub fn accepts_a_single_cloud(answer: &Lesson03) -> Verdict {
    let mut draw = draw();
    for n in [draw.whole(3, 6), 1] {
        let clouds = clouds(&mut draw, &[n]);
        let case = given(format!("one cloud of {n} points"));
        shapes(answer, &case, &clouds, n)?;
    }
    Ok(())
}

fn shapes(answer: &Lesson03, case: &Case, clouds: &[Vec<[f32; 3]>], longest: usize) -> Verdict {
    let (points, mask) = (answer.collate_ragged)(clouds, &Device::Cpu)?;
    let shape = |t: &Tensor| t.dims().to_vec();
    case.close(
        "shape of the points",
        &shape(&points),
        &vec![clouds.len(), longest, 3],
    )?;
    case.close("shape of the mask", &shape(&mask), &vec![clouds.len(), longest])
}

pub fn puts_points_first_in_their_row(answer: &Lesson03) -> Verdict {
    for (case, clouds, longest) in cases(&mut draw()) {
        let (points, _) = (answer.collate_ragged)(&clouds, &Device::Cpu)?;
        let mut expected = Vec::new();
        for cloud in &clouds {
            for at in 0..longest {
                let point = cloud.get(at).copied().unwrap_or([0.0; 3]);
                expected.extend(point.map(f64::from));
            }
        }
        let shape = [clouds.len(), longest, 3];
        case.close(
            "points",
            values(&points)?,
            Values::tensor(expected, &shape, "f32"),
        )?;
    }
    Ok(())
}

pub fn masks_the_padding(answer: &Lesson03) -> Verdict {
    for (case, clouds, longest) in cases(&mut draw()) {
        let (_, mask) = (answer.collate_ragged)(&clouds, &Device::Cpu)?;
        let real = |cloud: &Vec<[f32; 3]>| {
            (0..longest)
                .map(|at| f64::from(u8::from(at < cloud.len())))
                .collect::<Vec<_>>()
        };
        let expected: Vec<f64> = clouds.iter().flat_map(real).collect();
        let shape = [clouds.len(), longest];
        case.close("mask", values(&mask)?, Values::tensor(expected, &shape, "f32"))?;
    }
    Ok(())
}

pub fn rejects_a_cloud_without_points(answer: &Lesson03) -> Verdict {
    for lengths in [&[3, 0, 2][..], &[0, 3], &[2, 1, 0], &[0], &[0, 0]] {
        rejects(answer, lengths)?;
    }
    Ok(())
}

pub fn rejects_a_batch_without_clouds(answer: &Lesson03) -> Verdict {
    rejects(answer, &[])
}

/// A panic is told apart from a result, whatever its message is: it is one mistake.
fn rejects(answer: &Lesson03, lengths: &[usize]) -> Verdict {
    let clouds = clouds(&mut draw(), lengths);
    let input = format!("clouds of {lengths:?} points");
    given(input.clone());
    let got = unless_to_do(|| (answer.collate_ragged)(&clouds, &Device::Cpu));
    let (kind, said) = match got {
        Ok(Err(_)) => return Ok(()),
        Ok(Ok((points, _))) => {
            let rows = points.dims().first().copied().unwrap_or(0);
            (vec![1, rows], format!("Ok with points {:?}", points.dims()))
        }
        Err(message) => (vec![2], format!("a panic: {message}")),
    };
    let mut lines = vec!["expected  Err".into()];
    let said = wrap(&said, 52);
    lines.extend(
        said.iter()
            .take(2)
            .zip(["got       ", "          "])
            .map(|(text, head)| format!("{head}{text}")),
    );
    told(input, "result", &kind, lines)
}
