//! The scanner's physics, each law on the simplest scene that shows it.

use super::{
    shape::{Hit, Ray},
    survey::tripods,
    *,
};
use crate::{
    Return,
    growth::{Leaf, Segment, Size, Standing, grow},
    species::SPECIES,
};

/// A scene of a bare pole of 20 m, 40 cm thick, and `leaves`.
fn scene(leaves: Vec<Leaf>) -> Scene {
    let pole = Segment {
        from: Vec3::default(),
        to: Vec3::UP * 20.0,
        radius: [0.2, 0.2],
    };
    let tree = Tree {
        wood: vec![pole],
        leaves,
        size: Size {
            diameter: 0.4,
            height: 20.0,
            crown_base: 10.0,
            crown_radius: 3.0,
        },
        top: 20.0,
        stem_volume: 0.0,
    };
    Scene::new(&tree, &SPECIES[0].habit, Vec::new())
}

/// A level disc of `radius` around `centre`.
fn plate(centre: [f64; 3], radius: f64) -> Leaf {
    Leaf {
        centre: Vec3::new(centre[0], centre[1], centre[2]),
        long: Vec3::new(radius, 0.0, 0.0),
        short: Vec3::new(0.0, radius, 0.0),
    }
}

/// The echoes of one pulse through `scene`.
fn echoes(
    scene: &Scene,
    optics: &beam::Optics,
    origin: Vec3,
    dir: Vec3,
    skip: f64,
    rng: &mut Philox,
) -> Vec<Echo> {
    let pulse = Pulse {
        origin,
        dir,
        skip,
        station: 0,
    };
    let mut echoes = Vec::new();
    beam::cast(&scene.bvh, optics, &pulse, rng, &mut echoes);
    echoes
}

fn share(cloud: &Cloud, keep: impl Fn([f32; 3]) -> bool) -> f64 {
    cloud.xyz.iter().filter(|p| keep(**p)).count() as f64 / cloud.len() as f64
}

#[test]
fn the_far_side_the_top_and_what_is_below_are_hidden() {
    let pole = scene(vec![]);
    let mut rng = Philox::new(1, 1);
    let pulses = tripods(&pole.target, 1, 20_000, &mut rng);
    let toward = pulses[0].origin.unit();
    let cloud = pole.cast(&scanner(Scan::Tls), &pulses, &mut rng);
    assert!(cloud.len() > 500, "{} points", cloud.len());
    let along = |p: [f32; 3]| f64::from(p[0]) * toward.x + f64::from(p[1]) * toward.y;
    let near = share(&cloud, |p| along(p) > -0.03);
    assert!(near > 0.99, "{near} of one tripod's points lie on its side");

    let cloud = pole.scan(Scan::Tls, 30_000, &mut Philox::new(1, 2));
    let low = share(&cloud, |p| (2.0..6.0).contains(&p[2]));
    let high = share(&cloud, |p| p[2] > 16.0);
    assert!(low > 2.0 * high, "{low} between 2 and 6 m, {high} above 16 m");

    let plates = scene(vec![plate([0.0, 0.0, 18.0], 3.0), plate([0.0, 0.0, 8.0], 3.0)]);
    let cloud = plates.scan(Scan::Als, 20_000, &mut Philox::new(1, 3));
    let upper = share(&cloud, |p| p[2] > 17.0);
    let lower = share(&cloud, |p| (7.0..9.0).contains(&p[2]));
    let message = "from the air on the upper plate, and on the lower";
    assert!(upper > 0.6 && lower < 0.3, "{upper} {lower} {message}");
}

#[test]
fn a_pulse_that_meets_two_surfaces_returns_twice_in_order() {
    // A disc covers half of the beam; the other half goes on to the plate below it.
    let scene = scene(vec![plate([5.0, 2.0, 15.0], 5.0), plate([0.0, 0.0, 5.0], 10.0)]);
    let mut optics = scanner(Scan::Als).optics;
    optics.range_noise = 0.0;
    let (origin, down) = (Vec3::new(0.0, 2.0, 600.0), Vec3::UP * -1.0);
    let echoes = echoes(&scene, &optics, origin, down, 575.0, &mut Philox::new(1, 4));
    let returns: Vec<Return> = echoes.iter().map(|e| e.ret).collect();
    assert_eq!(returns, [1, 2].map(|number| Return { number, of: 2 }));
    assert!((echoes[0].at.z - 15.0).abs() < 0.01 && (echoes[1].at.z - 5.0).abs() < 0.01);
    assert!(echoes.iter().all(|e| e.energy > 0.0 && e.energy < 1.0));
}

#[test]
fn intensity_falls_with_range_and_grazing_incidence() {
    let scene = scene(vec![plate([0.0, 0.0, 10.0], 4.0)]);
    let optics = scanner(Scan::Uls).optics;
    let mut rng = Philox::new(1, 5);
    let mut energy = |dir: Vec3| {
        let origin = Vec3::new(1.0, 1.0, 10.0) + dir * -20.0;
        echoes(&scene, &optics, origin, dir, 5.0, &mut rng)[0]
    };
    let (head_on, grazing) = (energy(Vec3::polar(3.1, 0.3)), energy(Vec3::polar(1.75, 0.3)));
    assert!(head_on.energy > 1.5 * grazing.energy, "{head_on:?} {grazing:?}");
    let mut sum = |factor: f64| {
        let mut echo = head_on;
        echo.range *= factor;
        let strengths = (0..200).map(|_| f64::from(strength(&echo, 3000.0, 60.0, &mut rng)));
        strengths.sum::<f64>()
    };
    let ratio = sum(1.0) / sum(2.0);
    let law = (3.6..4.4).contains(&ratio);
    assert!(law, "twice as far is {ratio} times as weak");
}

#[test]
fn the_hierarchy_matches_a_linear_search() {
    let standing = Standing {
        diameter: 20.0,
        site: 1.0,
        crowding: 0.5,
        age: 0.5,
        leaves: true,
    };
    let mut rng = Philox::new(3, 0);
    let tree = grow(&SPECIES[2], &standing, &mut rng);
    let surface = Surface {
        reflectance: 0.5,
        own: true,
    };
    let mut shapes: Vec<Shape> = tree.wood.iter().map(|s| Shape::wood(s, surface)).collect();
    shapes.extend(tree.leaves.iter().map(|l| Shape::leaf(l, surface)));
    let bvh = Bvh::build(shapes.iter().copied());
    let mut hits = 0;
    for _ in 0..400 {
        let from = Vec3::polar(rng.range(0.8, 1.6), rng.range(0.0, std::f64::consts::TAU)) * 25.0;
        let to = Vec3::new(rng.normal(), rng.normal(), rng.range(4.0, tree.size.height));
        let ray = Ray::new(from.single(), (to - from).unit().single());
        let mut nearest: Option<Hit> = None;
        for s in &shapes {
            nearest = s.hit(&ray, nearest.map_or(100.0, |h| h.t)).or(nearest);
        }
        let found = bvh.hit(&ray, 100.0).map(|(h, _)| h.t);
        assert_eq!(found, nearest.map(|h| h.t));
        hits += usize::from(found.is_some());
    }
    assert!(hits > 50, "only {hits} of 400 rays met the tree");
}
