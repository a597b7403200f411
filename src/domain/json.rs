//! JSON text, read so that nothing of it gets lost.

use std::collections::BTreeSet;
use std::fmt;

use serde::de::{DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value as Json};

use super::Fault;
use super::fields::escape;

/// What a JSON text says, and the names that it says twice.
///
/// Of two values under one name a reader would keep one and never hear of the other, so that what
/// was measured could be lost without a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonText {
    /// What the text says; of a name that stands twice, the first value.
    pub content: Json,
    /// Every name that an object has more than once.
    pub repeated: Vec<Fault>,
}

impl JsonText {
    /// Reads a whole text.
    ///
    /// # Errors
    /// If it is not JSON, or nested too deeply.
    pub fn parse(text: &[u8]) -> Result<Self, serde_json::Error> {
        let mut repeated = Vec::new();
        let mut source = serde_json::Deserializer::from_slice(text);
        let reader = Reader {
            place: &Place::Root,
            repeated: &mut repeated,
        };
        let content = reader.deserialize(&mut source)?;
        source.end()?;
        Ok(Self { content, repeated })
    }
}

impl From<Json> for JsonText {
    /// Content that was never a text repeats nothing.
    fn from(content: Json) -> Self {
        Self {
            content,
            repeated: Vec::new(),
        }
    }
}

/// Where a value stands; written as a pointer only once there is something to tell of it.
enum Place<'a> {
    Root,
    Field(&'a Place<'a>, &'a str),
    Item(&'a Place<'a>, usize),
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Field(object, name) => write!(f, "{object}/{}", escape(name)),
            Self::Item(list, index) => write!(f, "{list}/{index}"),
        }
    }
}

struct Reader<'a> {
    place: &'a Place<'a>,
    repeated: &'a mut Vec<Fault>,
}

impl Reader<'_> {
    fn below<'b>(&'b mut self, place: &'b Place<'b>) -> Reader<'b> {
        Reader {
            place,
            repeated: self.repeated,
        }
    }
}

impl<'de> DeserializeSeed<'de> for Reader<'_> {
    type Value = Json;

    fn deserialize<D: serde::Deserializer<'de>>(self, source: D) -> Result<Json, D::Error> {
        source.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Reader<'_> {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Bool(value))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Json, E> {
        Ok(number.into())
    }

    fn visit_u64<E>(self, number: u64) -> Result<Json, E> {
        Ok(number.into())
    }

    fn visit_str<E>(self, text: &str) -> Result<Json, E> {
        Ok(Json::String(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<Json, A::Error> {
        let mut items = Vec::new();
        loop {
            let place = Place::Item(self.place, items.len());
            match list.next_element_seed(self.below(&place))? {
                Some(item) => items.push(item),
                None => return Ok(Json::Array(items)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut source: A) -> Result<Json, A::Error> {
        let mut object = Map::new();
        let mut told = BTreeSet::new();
        while let Some(name) = source.next_key::<String>()? {
            let place = Place::Field(self.place, &name);
            let below = self.below(&place);
            let value = if name == NUMBER {
                match source.next_value_seed(UnderNumber(below))? {
                    Under::Digits(number) => return Ok(Json::Number(number)),
                    Under::Other(value) => value,
                }
            } else {
                source.next_value_seed(below)?
            };
            if !object.contains_key(&name) {
                object.insert(name, value);
            } else if told.insert(name.clone()) {
                let detail = "stands here more than once";
                self.repeated.push(Fault::new(
                    Place::Field(self.place, &name).to_string(),
                    detail,
                ));
            }
        }
        Ok(Json::Object(object))
    }
}

/// The name under which `serde_json` hands over a number that keeps its digits, as the only field
/// of an object. The digits come as a `String`, which nothing in a text does: so a text that really
/// has a field of this name is an object like any other.
const NUMBER: &str = "$serde_json::private::Number";

/// Reads what stands under [`NUMBER`].
struct UnderNumber<'a>(Reader<'a>);

enum Under {
    Digits(Number),
    Other(Json),
}

impl<'de> DeserializeSeed<'de> for UnderNumber<'_> {
    type Value = Under;

    fn deserialize<D: serde::Deserializer<'de>>(self, source: D) -> Result<Under, D::Error> {
        source.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for UnderNumber<'_> {
    type Value = Under;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.expecting(f)
    }

    fn visit_string<E: serde::de::Error>(self, digits: String) -> Result<Under, E> {
        digits.parse().map(Under::Digits).map_err(E::custom)
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<Under, E> {
        self.0.visit_unit().map(Under::Other)
    }

    fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<Under, E> {
        self.0.visit_bool(value).map(Under::Other)
    }

    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<Under, E> {
        self.0.visit_i64(number).map(Under::Other)
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<Under, E> {
        self.0.visit_u64(number).map(Under::Other)
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Under, E> {
        self.0.visit_str(text).map(Under::Other)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Under, A::Error> {
        self.0.visit_seq(list).map(Under::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, source: A) -> Result<Under, A::Error> {
        self.0.visit_map(source).map(Under::Other)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse(text: &str) -> JsonText {
        JsonText::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn a_text_is_read_as_the_library_reads_it() {
        for text in [
            "null",
            " [true, false, null] ",
            r#"{"a": "x\u00e9\n", "b": {"": [{}, []]}}"#,
            "-0",
            "1.50",
            "-7",
            "18446744073709551615",
            "18446744073709551616",
            "12345678901234567890.123456789E+400",
            r#"[{"value": 0.10}, 3]"#,
        ] {
            let read = parse(text);
            assert_eq!(read.content, serde_json::from_str::<Json>(text).unwrap());
            assert_eq!(read.repeated, []);
        }
    }

    #[test]
    fn what_is_no_json_is_refused() {
        for text in [
            "",
            "{",
            "1 2",
            "{\"a\":1,}",
            "nul",
            "01",
            "\u{feff}1",
            "\"\\ud800\"",
        ] {
            assert!(JsonText::parse(text.as_bytes()).is_err(), "{text}");
        }
        assert!(JsonText::parse("[".repeat(100_000).as_bytes()).is_err());
    }

    #[test]
    fn a_name_that_stands_twice_is_told_once_with_its_place() {
        let read = parse(
            r#"{"a": 1, "list": [{}, {"x/y": 1, "x\/y": 2, "x/y": 3}], "\u0061": {"b": 1, "b": 1}}"#,
        );
        let told: Vec<String> = read.repeated.iter().map(Fault::to_string).collect();
        assert_eq!(
            told,
            [
                "/list/1/x~1y: stands here more than once",
                "/a/b: stands here more than once",
                "/a: stands here more than once",
            ]
        );
        assert_eq!(read.content["a"], json!(1));
    }

    #[test]
    fn no_name_makes_an_object_anything_else() {
        for name in [
            NUMBER,
            r"\u0024serde_json::private::Number",
            "$serde_json::private::RawValue",
        ] {
            for value in ["\"12\"", "\"\\u0031\"", "12", "{}", "null"] {
                let read = parse(&format!("{{\"{name}\": {value}}}"));
                assert!(read.content.is_object(), "{name} {value}");
            }
        }
    }
}
