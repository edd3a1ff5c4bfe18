//! The scenario of clients/README.md with the client of openapi-generator (rust, library reqwest).

mod shop;

use animalstore_client::apis::{categories_api, events_api, files_api, keys_api, pets_api, store_api, webhooks_api};
use animalstore_client::models::*;
use shop::{refused, Shop};
use std::collections::BTreeSet;
use std::time::Duration;

const EXACT: i64 = 9007199254740993; // 2^53 + 1, which a double cannot hold

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let shop = Shop::new();
    if std::env::var("LATER").is_ok() {
        return read_a_later_version(&shop).await;
    }
    let (rex, other) = use_animals(&shop).await;
    use_orders(&shop, &rex, &other).await;
    use_the_rest(&shop, &other).await;
    let types = read_events(&shop, &rex).await;
    let seen: BTreeSet<String> = types.iter().cloned().collect();
    for expected in ALL_TYPES {
        assert!(seen.contains(expected), "no event of the type {expected}");
    }
    assert_eq!(seen.len(), ALL_TYPES.len(), "{seen:?}");
    println!(
        "passed: animals, pages, conditions, orders, files, errors, and {} events of {} types",
        types.len(),
        seen.len()
    );
}

const ALL_TYPES: [&str; 19] = [
    "pet.created",
    "pet.updated",
    "pet.deleted",
    "pet.restored",
    "category.created",
    "category.updated",
    "category.deleted",
    "order.placed",
    "order.updated",
    "order.approved",
    "order.delivered",
    "order.cancelled",
    "order.expired",
    "key.created",
    "key.rotated",
    "key.revoked",
    "webhook.created",
    "webhook.updated",
    "webhook.deleted",
];

async fn use_animals(shop: &Shop) -> (Pet, Pet) {
    let api = &shop.api;
    let dogs = categories_api::create_category(api, CategoryInput::new("Dogs".into()), None).await.unwrap();
    assert_eq!(dogs.name.as_deref(), Some("Dogs"));

    let mut new = NewPet::new("Rex".into(), EXACT);
    new.status = Some(PetStatus::Available);
    let rex = pets_api::create_pet(api, new, None).await.unwrap();
    assert_eq!(rex.category_id, EXACT);
    let found = pets_api::list_pets(api, None, None, None, Some(EXACT), None, None, None).await.unwrap();
    assert_eq!(found, vec![rex.clone()]);

    let mut made = vec![rex.clone()];
    for number in 0..4 {
        let new = NewPet::new(format!("Dog {number}"), dogs.id);
        made.push(pets_api::create_pet(api, new, None).await.unwrap());
    }
    let (mut seen, mut sizes, mut cursor) = (Vec::new(), Vec::new(), None);
    loop {
        let page =
            pets_api::list_pets(api, Some(2), cursor.as_deref(), None, None, None, None, None).await.unwrap();
        sizes.push(page.len());
        seen.extend(page);
        cursor = shop.next_page("cursor");
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(sizes, [2, 2, 1]);
    seen.reverse();
    assert_eq!(seen, made);

    let one = pets_api::list_pets(api, None, None, None, None, None, Some(vec![rex.id]), None).await.unwrap();
    assert_eq!(one, vec![rex.clone()]);
    let etag = shop.header("ETag").unwrap();
    let name = |name: &str| PetChange { name: Some(name.into()), ..Default::default() };
    let changed = pets_api::update_pet(api, rex.id, name("Rexina"), Some(&etag)).await.unwrap();
    assert_eq!((changed.name.as_str(), changed.category_id), ("Rexina", EXACT));
    let stale = pets_api::update_pet(api, rex.id, name("Max"), Some(&etag)).await;
    refused(stale, 412, "precondition_failed");
    (changed, made[1].clone())
}

async fn use_orders(shop: &Shop, rex: &Pet, other: &Pet) {
    let api = &shop.api;
    let mut order = OrderInput::new(rex.id);
    order.reference = Some("basket 4711".into());
    let first = store_api::place_order(api, order, None).await.unwrap();
    assert_eq!(first.status, OrderStatus::Placed);
    assert!(first.hold_expires_at.is_some(), "{first:?}");
    let second = store_api::place_order(api, OrderInput::new(rex.id), None).await;
    refused(second, 409, "pet_not_available");
    let reference = OrderChange { reference: Some(Some("basket 4712".into())), ..Default::default() };
    let changed = store_api::update_order(api, first.id, reference, None).await.unwrap();
    assert_eq!(changed.reference.as_deref(), Some("basket 4712"));
    let status = |status| OrderChange { status: Some(status), ..Default::default() };
    for next in [OrderStatus::Approved, OrderStatus::Delivered] {
        let changed = store_api::update_order(api, first.id, status(next), None).await.unwrap();
        assert_eq!(changed.status, next);
    }

    let available = PetChange { status: Some(PetStatus::Available), ..Default::default() };
    pets_api::update_pet(api, other.id, available, None).await.unwrap();
    let second = store_api::place_order(api, OrderInput::new(other.id), None).await.unwrap();
    store_api::update_order(api, second.id, status(OrderStatus::Cancelled), None).await.unwrap();
    let third = store_api::place_order(api, OrderInput::new(other.id), None).await.unwrap();
    let end = (chrono::Utc::now() + chrono::TimeDelta::seconds(2)).fixed_offset();
    let hold = OrderChange { hold_expires_at: Some(end), ..Default::default() };
    let shorter = store_api::update_order(api, third.id, hold, None).await.unwrap();
    let stored = shorter.hold_expires_at.unwrap();
    assert_eq!(stored.timestamp_millis(), end.timestamp_millis());
    while store_api::get_order(api, third.id, None).await.unwrap().status != OrderStatus::Expired {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

async fn use_the_rest(shop: &Shop, other: &Pet) {
    let api = &shop.api;
    pets_api::delete_pet(api, other.id, None).await.unwrap();
    assert_eq!(pets_api::restore_pet(api, other.id, None).await.unwrap().name, other.name);
    let cats = categories_api::create_category(api, CategoryInput::new("Cats".into()), None).await.unwrap();
    let kittens = CategoryInput::new("Kittens".into());
    categories_api::put_category(api, cats.id, kittens, None, None).await.unwrap();
    categories_api::delete_category(api, cats.id, None).await.unwrap();

    let new = KeyInput::new("website".into(), vec![Scope::PetsColonRead]);
    let key = keys_api::create_key(api, new, None).await.unwrap();
    let rotation = Rotation { overlap_seconds: Some(0) };
    let rotated = keys_api::rotate_key(api, key.id, None, Some(rotation)).await.unwrap();
    assert!(key.key.is_some() && rotated.key.is_some() && key.key != rotated.key);
    keys_api::revoke_key(api, key.id).await.unwrap();

    let mut new = WebhookInput::new("https://shop.invalid/hook".into());
    new.types = Some(Some(vec![EventType::OrderPlaced]));
    let hook = webhooks_api::create_webhook(api, new, None).await.unwrap();
    assert!(hook.secret.is_some());
    let disable = WebhookChange { enabled: Some(false), ..Default::default() };
    assert!(!webhooks_api::update_webhook(api, hook.id, disable, None).await.unwrap().enabled);
    webhooks_api::delete_webhook(api, hook.id, None).await.unwrap();

    let file = std::env::current_dir().unwrap().join("animals.csv");
    std::fs::write(&file, "name,categoryId,status\r\nBella,7,available\r\nLuna,7,\r\n").unwrap();
    let imported = files_api::import_pets(api, file, None, None, None).await.unwrap();
    assert_eq!(imported.created, 2);
    let csv = files_api::export_pets_csv(api, None).await.unwrap().text().await.unwrap();
    assert!(csv.starts_with("id,name,categoryId,status"), "{csv}");
    assert!(csv.contains(&format!(",Rexina,{EXACT},sold")), "{csv}");
    assert!(csv.contains(",Luna,7,"), "{csv}");

    let unnamed = pets_api::create_pet(api, NewPet::new("".into(), 1), None).await;
    refused(unnamed, 400, "validation_failed");
    refused(store_api::get_order(api, 999, None).await, 404, "not_found");
}

async fn read_events(shop: &Shop, rex: &Pet) -> Vec<String> {
    let (mut types, mut after) = (Vec::new(), None);
    loop {
        let position = after.as_deref();
        let page =
            events_api::list_events(&shop.api, position, Some(10), None, None, None, None, None, None, None).await;
        types.extend(page.unwrap().iter().map(|event| check(event, rex)));
        after = shop.next_page("after");
        if after.is_none() {
            return types;
        }
    }
}

/// Reads responses with members, codes, scopes and types that the document does not have.
async fn read_a_later_version(shop: &Shop) {
    let api = &shop.api;
    let dogs = categories_api::create_category(api, CategoryInput::new("Dogs".into()), None).await.unwrap();
    pets_api::create_pet(api, NewPet::new("Rex".into(), dogs.id), None).await.unwrap();
    refused(store_api::get_order(api, 999, None).await, 404, "added_later");
    let new = KeyInput::new("website".into(), vec![Scope::PetsColonRead]);
    let key = keys_api::create_key(api, new, None).await.unwrap();
    assert_eq!(key.scopes, ["pets:read", "added:later"]);
    let mut new = WebhookInput::new("https://shop.invalid/hook".into());
    new.types = Some(Some(vec![EventType::OrderPlaced]));
    let hook = webhooks_api::create_webhook(api, new, None).await.unwrap();
    assert!(hook.types.unwrap().iter().any(|kind| kind == "pet.photographed"));
    let page = events_api::list_events(api, None, None, None, None, None, None, None, None, None).await.unwrap();
    match &page[..] {
        [Event::YetUnknownEvent(unknown), Event::PetEvent(_), ..] => {
            assert_eq!(unknown.r#type, "pet.photographed");
            assert_eq!(unknown.data.current.as_ref().unwrap()["name"], "Dogs");
        }
        _ => panic!("{page:?}"),
    }
}

/// Checks that the event has the generated type of its family, and returns its type.
fn check(event: &Event, rex: &Pet) -> String {
    let (family, kind, has_state) = match event {
        Event::PetEvent(change) => {
            let (current, previous) = (&change.data.current, &change.data.previous);
            if change.r#type == PetEventType::PetCreated && change.subject == format!("pets/{}", rex.id) {
                let created = current.as_ref().unwrap();
                assert_eq!((created.name.as_str(), created.category_id), ("Rex", EXACT));
                assert!(previous.is_none());
            }
            ("pet.", change.r#type.to_string(), current.is_some() || previous.is_some())
        }
        Event::OrderEvent(change) => {
            let order = change.data.current.as_ref().unwrap();
            assert_eq!(change.subject, format!("store/orders/{}", order.id));
            ("order.", change.r#type.to_string(), true)
        }
        Event::CategoryEvent(change) => (
            "category.",
            change.r#type.to_string(),
            change.data.current.is_some() || change.data.previous.is_some(),
        ),
        Event::KeyEvent(change) => {
            ("key.", change.r#type.to_string(), change.data.current.is_some() || change.data.previous.is_some())
        }
        Event::ProfileEvent(change) => ("profile.", change.r#type.to_string(), true),
        Event::WebhookEvent(change) => {
            ("webhook.", change.r#type.to_string(), change.data.current.is_some() || change.data.previous.is_some())
        }
        Event::YetUnknownEvent(change) => panic!("an event of an unknown type: {change:?}"),
    };
    assert!(kind.starts_with(family) && has_state, "{event:?}");
    kind
}
