//! Which functions run: the student's where they are right, canopy's elsewhere.

use lesson02::{Lesson02, STUDENT};

/// Puts the student's function of `exercise` into `answer`.
pub fn take(answer: &mut Lesson02, exercise: &str) {
    match exercise {
        "2.1" => answer.normalise = STUDENT.normalise,
        "2.2" => answer.shared_layer = STUDENT.shared_layer,
        "2.3" => answer.max_points = STUDENT.max_points,
        "2.4" => answer.to_matrix = STUDENT.to_matrix,
        "2.5" => answer.orthogonality = STUDENT.orthogonality,
        "2.6" => answer.turn = STUDENT.turn,
        "2.7" => answer.jitter = STUDENT.jitter,
        "2.8" => answer.survivors = STUDENT.survivors,
        _ => {}
    }
}
