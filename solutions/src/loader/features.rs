//! Which channels the network sees of a point: its coordinates, alone or with the echo of the laser pulse.

use anyhow::{Result, ensure};
use canopy_data::Cloud;
use serde::{Deserialize, Serialize};

/// The channels of a point.
///
/// The channels of the echo (intensity, return number, number of returns) are functions of the point alone: no constant
/// in them is fitted to the data. Intensity is in the scanner's own unit and falls with range. So a model that uses it
/// is valid for its scanner and survey only, and it may recognise a site by its level of intensity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Features {
    /// x, y, z: 3 channels.
    #[default]
    Xyz,
    /// x, y, z and log₁₀(1 + intensity)/2: 4 channels. How much near-infrared light leaves reflect depends on the
    /// species.
    Intensity,
    /// 6 channels: those of [`Self::Intensity`], the return number divided by the pulse's number of returns, and the
    /// number of returns divided by 5. A pulse has more returns in a more open crown.
    Echo,
}

impl Features {
    /// The number of channels, 3 of which are coordinates.
    pub fn channels(self) -> usize {
        match self {
            Self::Xyz => 3,
            Self::Intensity => 4,
            Self::Echo => 6,
        }
    }

    /// Returns the echo channels, without the coordinates, of the points at `indices`, row by row.
    ///
    /// # Errors
    /// Returns an error if the cloud lacks a channel.
    pub(super) fn of_echo(self, cloud: &Cloud, indices: &[usize]) -> Result<Vec<f32>> {
        ensure!(
            self == Self::Xyz || !cloud.intensity.is_empty(),
            "the cloud has no intensity: use --features xyz"
        );
        ensure!(
            self != Self::Echo || !cloud.returns.is_empty(),
            "the cloud has no return numbers: use --features intensity or xyz"
        );
        let mut rows = Vec::with_capacity(indices.len() * (self.channels() - 3));
        for &i in indices {
            if self != Self::Xyz {
                // libm is bit-identical on every machine.
                rows.push(libm::log10(1.0 + f64::from(cloud.intensity[i])) as f32 / 2.0);
            }
            if self == Self::Echo {
                let of = f32::from(cloud.returns[i].of);
                rows.extend([f32::from(cloud.returns[i].number) / of.max(1.0), of / 5.0]);
            }
        }
        Ok(rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loader::{Augment, Frame, prepare};
    use canopy_data::Return;

    /// The intensity of point i is i, its return 1 of 1 + i mod 4; x is i as well.
    fn cloud(n: usize) -> Cloud {
        Cloud {
            intensity: (0..n as u16).collect(),
            returns: (0..n)
                .map(|i| Return {
                    number: 1,
                    of: 1 + (i % 4) as u8,
                })
                .collect(),
            ..Cloud::from_points((0..n).map(|i| [i as f32, 0.0, 2.0]).collect())
        }
    }

    fn seen(cloud: &Cloud, features: Features, augment: &Augment) -> Result<Vec<f32>> {
        prepare(cloud, 32, Frame::Metric, features, augment, 3, 1)
    }

    #[test]
    fn each_point_keeps_its_own_echo_and_its_coordinates_through_sampling_and_augmentation() {
        let dropping = Augment {
            point_dropout: 0.9,
            ..Augment::NONE
        };
        for augment in [dropping, Augment::NONE] {
            let xyz = seen(&cloud(60), Features::Xyz, &augment).unwrap();
            let rows = seen(&cloud(60), Features::Echo, &augment).unwrap();
            let first = (10f32.powf(2.0 * rows[3]) - 1.0).round();
            for (row, place) in rows.chunks_exact(6).zip(xyz.chunks_exact(3)) {
                let i = (10f32.powf(2.0 * row[3]) - 1.0).round();
                assert_eq!(((row[0] - rows[0]) * 20.0).round(), i - first);
                let of = 1.0 + i % 4.0;
                assert_eq!(row[4..], [1.0 / of, of / 5.0]);
                assert_eq!(row[..3], *place);
            }
            assert_eq!(rows.len(), 32 * 6);
        }
    }

    #[test]
    fn a_cloud_without_the_echo_is_an_error_that_names_other_features() {
        let bare = Cloud::from_points(cloud(9).xyz);
        let said = |c: &Cloud, f| format!("{:#}", seen(c, f, &Augment::NONE).unwrap_err());
        assert!(said(&bare, Features::Intensity).contains("no intensity"));
        let no_returns = Cloud {
            returns: Vec::new(),
            ..cloud(9)
        };
        assert!(said(&no_returns, Features::Echo).contains("--features intensity"));
        assert!(seen(&no_returns, Features::Intensity, &Augment::NONE).is_ok());
        assert!(seen(&bare, Features::Xyz, &Augment::NONE).is_ok());
    }
}
