//! The submissions to lessons 01 and 11, from `deeds.txt`: each begins with a line of its name, the points (of 12 or 18) that it must get, and texts
//! that its status and its messages to the student must contain. One without code is a case of `archives.rs`.
//!
//! With 0 points, the code precedes the honest answers, and compilation must stop. Otherwise it is the body of `neuron`: even without a
//! sandbox it would exit by itself within seconds and use few resources; sockets use the loopback address only. If the hostile
//! action must fail, the answer is right only if it did: the point then shows that nothing happened. In a name that begins with
//! `kernel-`, the code is CUDA C++: of the kernel `map`, in which `y[i]` gets its right value at the end.

use crate::{
    archives::SOURCE,
    lessons::{honest, honest_kernels},
};

pub struct Deed {
    pub name: &'static str,
    pub points: u32,
    pub shows: Vec<&'static str>,
    code: &'static str,
}

pub fn deeds() -> impl Iterator<Item = Deed> {
    let parts = include_str!("deeds.txt").trim_start_matches("== ").split("\n== ");
    parts.map(|part| {
        let (head, code) = part.split_once('\n').unwrap_or((part, ""));
        let head: Vec<&str> = head.split(" | ").collect();
        Deed {
            name: head[0],
            points: head[1].parse().expect("points"),
            shows: head[2..].to_vec(),
            code,
        }
    })
}

impl Deed {
    /// The honest submission with it; nothing without code.
    pub fn source(&self) -> Option<String> {
        match (self.code, self.points) {
            ("", _) => None,
            (code, 0) => Some(code.to_owned() + &honest()),
            (code, _) => Some(with_neuron(code)),
        }
    }

    /// The files of the honest submission with it; none without code.
    pub fn files(&self) -> Vec<(String, String)> {
        if !self.name.starts_with("kernel-") {
            let source = self.source().map(|text| (SOURCE.into(), text));
            return source.into_iter().collect();
        }
        let mut files = honest_kernels();
        for (_, text) in files.iter_mut().filter(|(file, _)| *file == "map.cu") {
            let body = text.find("{\n").expect("the kernel's body") + 2;
            let at = if self.points > 0 { body } else { 0 };
            text.insert_str(at, &format!("{}\n", self.code));
        }
        let path = |file| format!("exercises/lesson11/src/{file}");
        files.into_iter().map(|(file, text)| (path(file), text)).collect()
    }
}

/// The right value of `neuron`.
const RIGHT: &str = "activation(inputs.iter().zip(weights).map(|(x, w)| x * w).sum::<f32>() + bias)";

/// The honest submission with another body of `neuron`, in which `RIGHT` is the right value.
pub fn with_neuron(body: &str) -> String {
    let honest = honest();
    let (head, rest) = honest.split_once("pub fn neuron").expect("the function");
    let (signature, rest) = rest.split_once("{\n").expect("its body");
    let (_, others) = rest.split_once("\n}\n").expect("its end");
    format!(
        "{head}pub fn neuron{signature}{{\n{}\n}}\n{others}",
        body.replace("RIGHT", RIGHT)
    )
}
