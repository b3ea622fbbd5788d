//! Stands for the crate `grader` in a submission that is written from a lesson's own answers.

pub struct Right<C> {
    pub exercise: &'static str,
    pub way: &'static str,
    pub answer: C,
}

pub struct Mistake<C> {
    pub exercise: &'static str,
    pub caught_by: &'static str,
    pub cause: &'static str,
    pub answer: C,
}

macro_rules! contract {
    (pub struct $lesson:ident of $student:ident; $($exercise:literal $function:ident: $signature:ty = $reference:expr;)+) => {
        #[derive(Clone, Copy)]
        pub struct $lesson {
            $(pub $function: $signature,)+
        }

        pub const REFERENCE: $lesson = $lesson { $($function: $reference,)+ };

        $(#[allow(non_upper_case_globals)]
        pub const $function: $signature = CHOSEN.$function;)+
    };
}

macro_rules! instead {
    ($($function:ident: $answer:expr),+) => {{
        let mut answer = REFERENCE;
        $(answer.$function = $answer;)+
        answer
    }};
}

macro_rules! right {
    ($exercise:literal, $way:literal, $($function:ident: $answer:expr),+) => {
        Right { exercise: $exercise, way: $way, answer: instead!($($function: $answer),+) }
    };
}

macro_rules! wrong {
    ($exercise:literal, $caught_by:ident, $cause:literal, $($function:ident: $answer:expr),+) => {
        Mistake { exercise: $exercise, caught_by: stringify!($caught_by), cause: $cause, answer: instead!($($function: $answer),+) }
    };
}
