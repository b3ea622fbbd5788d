//! IDTReeS made small: one plot of sloping ground, its crowns, its table.

use shapefile::{Point, Polygon, PolygonRing, dbase};

use super::*;

/// A plot of flat, sloping ground with two trees, and a crown outside.
fn idtrees() -> TempDir {
    let d = tempfile::tempdir().unwrap();
    let mut plot = Cloud {
        origin: [500_000.0, 4_000_000.0, 300.0],
        ..Cloud::default()
    };
    let mut add = |x: f32, y: f32, height: f32, class: u8| {
        plot.xyz.push([x, y, 0.1 * x + height]);
        plot.class.push(class);
    };
    for i in 0..400 {
        add((i % 20) as f32, (i / 20) as f32, 0.0, 2);
    }
    for i in 0..30 {
        add(4.0 + 0.1 * i as f32 / 3.0, 5.0, 0.9 + 0.5 * i as f32, 5);
        add(14.0, 5.0 + 0.1 * i as f32 / 3.0, 3.0, 5);
    }
    add(4.5, 5.0, 80.0, 7);
    add(4.5, 5.0, 90.0, 18);
    fs::create_dir_all(d.path().join("RemoteSensing/LAS")).unwrap();
    let las = d.path().join("RemoteSensing/LAS/SITE_1.las");
    formats::write(&las, &plot, &formats::Options::default()).unwrap();
    let boxes = "T1 3,T2 12,FAR 900,NOLABEL 3,T2 300";
    crowns(d.path(), boxes);
    let rows = "indvdID,siteID,taxonID\nT1,SITE,QURU\nT2,SITE,ACRU\nT2,SITE,ACRU\nFAR,SITE,PITA\n";
    text(d.path(), "Field/train_data.csv", rows);
    d
}

/// Boxes of 4 m by 4 m at 4 m north: names, how far east, and how far their third corner is moved east.
fn crowns(root: &Path, boxes: &str) {
    fs::create_dir_all(root.join("ITC")).unwrap();
    let table = dbase::TableWriterBuilder::new().add_character_field("indvdID".try_into().unwrap(), 80);
    let mut writer = shapefile::Writer::from_path(root.join("ITC/train_SITE.shp"), table).unwrap();
    for one in boxes.split(',') {
        let (id, east) = one.split_once(' ').unwrap();
        let (east, moved) = east.split_once(' ').unwrap_or((east, "0"));
        let [east, moved] = [east, moved].map(|metres| metres.parse::<f64>().unwrap());
        let (x, y) = (500_000.0 + east, 4_000_004.0);
        let corner = (x + 4.0 + moved, y + 4.0);
        let corners = [(x, y), (x, y + 4.0), corner, (x + 4.0, y), (x, y)];
        let ring = PolygonRing::Outer(corners.map(|(x, y)| Point::new(x, y)).to_vec());
        let mut record = dbase::Record::default();
        record.insert("indvdID".into(), dbase::FieldValue::Character(Some(id.into())));
        let shape = Polygon::new(ring);
        writer.write_shape_and_record(&shape, &record).unwrap();
    }
}

#[test]
fn idtrees_clips_crowns_and_gives_heights_above_sloping_ground() {
    let d = idtrees();
    // As the zip unpacks, two folders down.
    let outer = tempfile::tempdir().unwrap();
    let inner = outer.path().join("IDTREES_competition_train_v2/train");
    fs::create_dir_all(inner.parent().unwrap()).unwrap();
    fs::rename(d.path(), &inner).unwrap();
    let kind = import::detect(outer.path()).unwrap();
    assert_eq!(kind.name, "idtrees");
    // T2's second outline is as large as its first and lies outside: half of it is here, which is enough.
    let found = import(kind, outer.path(), &Options::default()).unwrap();
    assert_eq!(found.species, ["ACRU", "QURU"]);
    let [(r1, first), (r2, second)] = &found.trees[..] else {
        panic!("{:?}", found.report)
    };
    let name = |r: &TreeRecord| format!("{} {} {}", r.tree, r.species, r.plot);
    assert_eq!([name(r1), name(r2)], ["T1 1 SITE_1", "T2 0 SITE_1"]);
    // Heights from 0.9 in steps of 0.5: three are below 2 m; noise at 80 and 90 m is gone.
    assert_eq!(first.len(), 27);
    let inside = |p: &[f32; 3]| (2.3..15.7).contains(&p[2]) && p[0].abs() <= 2.0;
    assert!(first.xyz.iter().all(inside));
    assert!(first.class.iter().all(|&c| c == 5));
    // The ground rises 0.1 m a metre: flat treetops stay within what eight neighbours smooth.
    let flat = |p: &[f32; 3]| (p[2] - 3.0).abs() < 0.1;
    assert!(second.xyz.iter().all(flat), "{:?}", second.xyz);
    assert_contains(&found.notes[0], &["1 crowns have no species"]);
    assert_contains(&found.notes[1], &["1 crowns lie outside"]);
}

#[test]
fn a_damaged_plot_two_labels_and_missing_ground_are_errors() {
    let no_ground = |root: &Path| {
        let las = root.join("RemoteSensing/LAS/SITE_1.las");
        let mut plot = formats::read(&las).unwrap();
        plot.class.iter_mut().filter(|c| **c == 2).for_each(|c| *c = 1);
        formats::write(&las, &plot, &formats::Options::default()).unwrap();
    };
    type Damage<'a> = &'a dyn Fn(&Path);
    let cases: [(Damage, &str); 6] = [
        (
            &|root| text(root, "RemoteSensing/LAS/SITE_2.las", "LASF and then nothing"),
            "SITE_2.las",
        ),
        (
            &|root| {
                let rows = "indvdID,siteID,taxonID\nT1,SITE,QURU\nT1,SITE,ACRU\n";
                text(root, "Field/train_data.csv", rows);
            },
            "line 3: tree T1 has two labels, QURU and ACRU",
        ),
        (&no_ground, "no ground points (class 2)"),
        (
            &|root| text(root, "ITC/train_SITE.shp", "no shapes"),
            "train_SITE.shp",
        ),
        (
            &|root| crowns(root, "T1 3,T2 12 1"),
            "crown T2: expected an upright box",
        ),
        (
            &|root| crowns(root, "T1 3,T2 12 NaN"),
            "crown T2: expected an upright box",
        ),
    ];
    for (damage, part) in cases {
        let d = idtrees();
        damage(d.path());
        let error = import(&KINDS[0], d.path(), &Options::default()).err().unwrap();
        assert_contains(&error, &[part]);
    }
}

#[test]
fn a_damaged_plot_is_left_out_on_request() {
    let d = idtrees();
    text(d.path(), "RemoteSensing/LAS/SITE_2.las", "LASF and then nothing");
    let options = Options {
        skip_damaged: true,
        ..Options::default()
    };
    let found = import(&KINDS[0], d.path(), &options).unwrap();
    assert_eq!(found.trees.len(), 2);
    let [damaged] = &found.report.damaged[..] else {
        panic!("{:?}", found.report)
    };
    assert!(damaged.path.ends_with("SITE_2.las"), "{damaged:?}");
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(100))]

    #[test]
    fn damaged_shapefiles_and_tables_never_panic(
        which in 0usize..4,
        at in 0.0f64..1.0,
        bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 1..8),
        cut in proptest::bool::ANY,
    ) {
        let d = tempfile::tempdir().unwrap();
        crowns(d.path(), "T1 3,T2 12,FAR 900");
        text(d.path(), "Field/train_data.csv", "indvdID,siteID,taxonID\nT1,SITE,QURU\nT2,SITE,ACRU\n");
        put(&d.path().join("RemoteSensing/LAS/SITE_1.las"), 20, 1);
        let names = ["ITC/train_SITE.shp", "ITC/train_SITE.dbf", "ITC/train_SITE.shx", "Field/train_data.csv"];
        let path = d.path().join(names[which]);
        let mut content = fs::read(&path).unwrap();
        let place = (at * content.len() as f64) as usize;
        if cut {
            content.truncate(place);
        } else {
            for (old, new) in content[place..].iter_mut().zip(&bytes) {
                *old = *new;
            }
        }
        fs::write(&path, content).unwrap();
        // An error or not: either is an answer.
        let _ = import(&KINDS[0], d.path(), &Options::default());
    }
}
