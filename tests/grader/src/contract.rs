//! What a lesson asks for, written once: `contract!` makes all of it that the grader, the proof and the experiment need.

/// A lesson's contract: a struct of function pointers, made by [`contract!`](macro@crate::contract).
pub trait Contract: Copy + Send + 'static {
    /// Takes the functions of `exercise` from another.
    fn take(&mut self, from: &Self, exercise: &str);
}

/// The contract of a lesson, a row a function: exercise, name, signature, canopy's own.
///
/// ```text
/// grader::contract! {
///     pub struct Lesson01 of exercise01;
///     "1.1" neuron: fn(&[f32], &[f32], f32, fn(f32) -> f32) -> f32 = kernels::neuron;
///     "1.6" iterations: fn(usize, usize, bool) -> usize = loader::iterations;
/// }
/// ```
///
/// Makes the struct; `STUDENT`, the functions of the crate `exercise01` (with the feature `student`); `REFERENCE`,
/// canopy's; and `LESSON` of both, of `../lesson.toml` and of the modules `stubs`, `checks`, `mistakes` and `right`
/// beside it.
#[macro_export]
macro_rules! contract {
    (
        pub struct $lesson:ident of $student:ident;
        $($exercise:literal $function:ident: $signature:ty = $reference:expr;)+
    ) => {
        /// What the lesson asks for; `stubs.rs` says it in words.
        #[allow(clippy::type_complexity, reason = "a signature is clearest written out")]
        #[derive(Clone, Copy)]
        pub struct $lesson {
            $(#[doc = $exercise] pub $function: $signature,)+
        }

        impl $crate::Contract for $lesson {
            fn take(&mut self, from: &Self, exercise: &str) {
                $(if exercise == $exercise {
                    self.$function = from.$function;
                })+
            }
        }

        /// What the student wrote.
        #[cfg(feature = "student")]
        pub const STUDENT: $lesson = $lesson { $($function: $student::$function,)+ };

        /// canopy's own.
        pub const REFERENCE: $lesson = $lesson { $($function: $reference,)+ };

        /// The whole lesson.
        pub static LESSON: $crate::Lesson<$lesson> = $crate::Lesson {
            manifest: include_str!("../lesson.toml"),
            stubs_text: include_str!("stubs.rs"),
            stubs: $lesson { $($function: stubs::$function,)+ },
            reference: REFERENCE,
            checks: checks::CHECKS,
            mistakes: mistakes::MISTAKES,
            right: right::RIGHT,
        };
    };
}

/// A mistake in one function of the contract, or in several of an exercise: canopy's `REFERENCE` with wrong ones in it,
/// the check that must catch it, and the cause that a student is told.
#[macro_export]
macro_rules! wrong {
    ($exercise:literal, $caught_by:ident, $cause:literal, $($function:ident: $answer:expr),+) => {
        $crate::Mistake {
            exercise: $exercise,
            caught_by: stringify!($caught_by),
            cause: $cause,
            answer: $crate::instead!($($function: $answer),+),
        }
    };
}

/// Another way to write one function of the contract, or several of an exercise.
#[macro_export]
macro_rules! right {
    ($exercise:literal, $way:literal, $($function:ident: $answer:expr),+) => {
        $crate::Right {
            exercise: $exercise,
            way: $way,
            answer: $crate::instead!($($function: $answer),+),
        }
    };
}

/// `REFERENCE` with other functions in the place of some.
#[doc(hidden)]
#[macro_export]
macro_rules! instead {
    ($($function:ident: $answer:expr),+) => {{
        let mut answer = REFERENCE;
        $(answer.$function = $answer;)+
        answer
    }};
}
