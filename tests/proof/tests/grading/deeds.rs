//! Hostile code, from `deeds.txt`: each begins with a line of its name, the points (of 12) that its submission must get, a text that
//! the messages to the student must contain, and the part of the sandbox that this needs, if it is not `files`.
//!
//! With 0 points, it precedes the honest answers, and compilation must stop. Otherwise it is the body of `neuron`: even without a
//! sandbox it would exit by itself within seconds and use few resources; sockets use the loopback address only. If the hostile
//! action must fail, the answer is right only if it did: the point then shows that nothing happened.

use crate::lessons::honest;

pub struct Deed {
    pub name: &'static str,
    pub points: u32,
    pub shows: &'static str,
    pub needs: &'static str,
    code: &'static str,
}

pub fn deeds() -> impl Iterator<Item = Deed> {
    let parts = include_str!("deeds.txt").trim_start_matches("== ").split("\n== ");
    parts.map(|part| {
        let (head, code) = part.split_once('\n').expect("a line of its own");
        let mut head = head.split(" | ").map(str::trim);
        let mut next = || head.next().unwrap_or("files");
        Deed {
            name: next(),
            points: next().parse().expect("points"),
            shows: next(),
            needs: next(),
            code,
        }
    })
}

impl Deed {
    /// The honest submission with it.
    pub fn source(&self) -> String {
        if self.points == 0 {
            format!("{}{}", self.code, honest())
        } else {
            with_neuron(self.code)
        }
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
