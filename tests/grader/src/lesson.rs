//! A lesson as the grader sees it: a contract of functions, checks of it, and answers known to be wrong or right.

use std::time::Duration;

use anyhow::Result;

use crate::{Exercise, Manifest, Verdict};

/// A lesson over its contract `C`: a struct of function pointers.
pub struct Lesson<C: 'static> {
    /// The text of its `lesson.toml`.
    pub manifest: &'static str,
    /// The texts of the two following, for each file of the exercise.
    pub texts: &'static [Text],
    /// The stubs as they are handed out.
    pub stubs: C,
    /// The third hints, completed.
    pub third_hints: C,
    /// canopy's own functions.
    pub reference: C,
    /// One list for each exercise, in the order in which they are reported; [`Lesson::checks`] iterates over all.
    pub checks: &'static [&'static [Check<C>]],
    /// Known wrong answers, one list for each exercise; [`Lesson::mistakes`] iterates over all.
    pub mistakes: &'static [&'static [Mistake<C>]],
    /// Right answers written another way.
    pub right: &'static [Right<C>],
}

/// A file of an exercise.
#[derive(Clone, Copy, Default)]
pub struct Text {
    /// Its name below `exercises/lessonNN/src`.
    pub file: &'static str,
    /// It, as it is handed out.
    pub stubs: &'static str,
    /// The completed third hints of what is written in it.
    pub third_hints: &'static str,
}

/// One property that an exercise is tested for.
pub struct Check<C> {
    /// The exercise, such as `1.2`.
    pub exercise: &'static str,
    /// The property, as a sentence without its subject: `stays_finite_for_huge_logits`.
    pub name: &'static str,
    /// Words from the sentence of the function's comment that promises it; if the check fails, a student reads that
    /// sentence.
    pub promise: &'static str,
    /// What a student reads if the answer fails this check first, and no known mistake fails in the same way.
    pub cause: &'static str,
    /// Tests it.
    pub run: fn(&C) -> Verdict,
}

/// An answer of which it is known whether it is right.
pub struct Known<C> {
    /// The exercise, such as `1.2`.
    pub exercise: &'static str,
    /// The likely cause that the student reads, or the way in which a right answer is different from canopy's.
    pub text: &'static str,
    /// The whole contract, with this one answer.
    pub answer: C,
}

/// A wrong answer that students give.
pub type Mistake<C> = Known<C>;

/// A right answer that is written differently from canopy's.
pub type Right<C> = Known<C>;

/// How long a check may take: far longer than any check needs, so that a slow machine does not fail it.
pub const DEADLINE: Duration = Duration::from_secs(5);

impl<C> Check<C> {
    /// As libtest shows and filters it: `1.2::stays_finite_for_huge_logits`.
    pub fn full_name(&self) -> String {
        format!("{}::{}", self.exercise, self.name)
    }

    /// As a sentence.
    pub fn sentence(&self) -> String {
        self.name.replace('_', " ")
    }
}

impl<C> Lesson<C> {
    /// All checks.
    pub fn checks(&self) -> impl Iterator<Item = &'static Check<C>> + use<C> {
        self.checks.iter().copied().flatten()
    }

    /// The checks of one exercise.
    pub fn checks_of<'a>(&self, exercise: &'a str) -> impl Iterator<Item = &'static Check<C>> + use<'a, C> {
        self.checks().filter(move |c| c.exercise == exercise)
    }

    /// All known wrong answers.
    pub fn mistakes(&self) -> impl Iterator<Item = &'static Mistake<C>> + use<C> {
        self.mistakes.iter().copied().flatten()
    }

    /// The texts of the file in which an exercise is written, empty if the lesson has no such file.
    pub fn text(&self, exercise: &Exercise) -> Text {
        let text = self.texts.iter().find(|text| text.file == exercise.file);
        text.copied().unwrap_or_default()
    }

    /// The lesson's description.
    ///
    /// # Errors
    /// Returns the errors of [`Manifest::parse`].
    pub fn manifest(&self) -> Result<Manifest> {
        Manifest::parse(self.manifest)
    }
}
