//! Checks of what a training step calls, and how often.

use super::*;

pub fn reads_no_number(answer: &Lesson04) -> Verdict {
    let mut draw = draw();
    let place = Place::new(&mut draw, Kind::Vanilla)?;
    let before = OnDevice::waits();
    let got = place.stepped(answer, &PLAIN, 0.1, 0.5)?;
    got.case
        .close("waits of OnDevice", OnDevice::waits() - before, 0u64)?;
    // A step that does not read its loss does not notice that it is NaN.
    let mut numbers: Vec<f32> = place.points.flatten_all()?.to_vec1()?;
    numbers[draw.whole(0, 20)] = f32::NAN;
    let points = Tensor::from_vec(numbers, place.points.shape(), &Device::Cpu)?;
    let input = format!(
        "{}; a coordinate is NaN, and so is the loss",
        place.told(&PLAIN, 0.1, 0.5)
    );
    given(&input);
    let mut recorder = Recorder::new(&place.model);
    let result = (answer.train_step)(
        &place.model,
        &mut recorder,
        (&points, &place.labels),
        &PLAIN,
        &place.pass(),
        0.1,
        0.5,
    );
    let steps = recorder.steps.len();
    let got = match result {
        Ok(_) if steps == 1 => return Ok(()),
        Ok(_) => format!("Ok after {steps} steps of the optimizer"),
        Err(error) => format!("Err: {error:#}"),
    };
    refuse(
        &input,
        "result",
        vec![steps as f64],
        "Ok after 1 step of the optimizer",
        &got,
    )
}

pub fn returns_errors(answer: &Lesson04) -> Verdict {
    let place = Place::new(&mut draw(), Kind::Vanilla)?;
    let few = place.labels.narrow(0, 0, place.clouds - 1)?;
    for (what, labels, fails) in [
        ("a label too few", &few, false),
        ("an optimizer whose step fails", &place.labels, true),
    ] {
        let input = format!("{}; {what}", place.told(&PLAIN, 0.1, 0.5));
        given(&input);
        let mut recorder = Recorder::new(&place.model);
        recorder.fails = fails;
        let result = (answer.train_step)(
            &place.model,
            &mut recorder,
            (&place.points, labels),
            &PLAIN,
            &place.pass(),
            0.1,
            0.5,
        );
        let steps = recorder.steps.len();
        if result.is_ok() || steps > 0 {
            let end = if result.is_ok() { "Ok" } else { "Err" };
            let got = format!("{end} after {steps} steps of the optimizer");
            return refuse(
                &input,
                "result",
                vec![steps as f64],
                "Err after 0 steps of the optimizer",
                &got,
            );
        }
    }
    Ok(())
}

pub fn runs_one_forward_pass(answer: &Lesson04) -> Verdict {
    let place = Place::new(&mut draw(), Kind::Vanilla)?;
    let got = place.stepped(answer, &PLAIN, 0.0, 0.0)?;
    place.seen(&place.pass())?;
    let (own, expected) = (bits(&place.model)?, bits(&place.twin)?);
    let mut names: Vec<&String> = expected.keys().filter(|n| n.contains("running")).collect();
    names.sort();
    let numbers = |b: &[u64]| b.iter().map(|&v| f64::from_bits(v)).collect::<Vec<f64>>();
    for name in names {
        let (a, b) = (numbers(&own[name]), numbers(&expected[name]));
        let shape = [b.len()];
        let of = |v| Values::tensor(v, &shape, "f32");
        got.case.close(&format!("{name} afterwards"), of(a), of(b))?;
    }
    Ok(())
}
