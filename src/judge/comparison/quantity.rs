//! A measured number.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use utoipa::ToSchema;

/// A finite number, as a program measured it.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, ToSchema)]
#[schema(value_type = f64)]
pub struct Quantity(f64);

impl Quantity {
    /// A number; `None` where it is not finite.
    pub fn new(number: f64) -> Option<Self> {
        // A zero has no sign, so that equal numbers have equal text.
        number.is_finite().then_some(Self(number + 0.0))
    }

    /// The number that stands in a text.
    ///
    /// # Errors
    /// That it is none, or too large.
    pub fn parse(text: &str) -> Result<Self, String> {
        let number: Option<f64> = text.parse().ok();
        number
            .and_then(Self::new)
            .ok_or_else(|| format!("`{text}` must be a number that is not too large"))
    }

    /// The number.
    pub fn get(self) -> f64 {
        self.0
    }
}

impl FromStr for Quantity {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::parse(text)
    }
}

impl From<u32> for Quantity {
    fn from(number: u32) -> Self {
        Self(number.into())
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Serialize for Quantity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.0)
    }
}

impl<'de> Deserialize<'de> for Quantity {
    /// From the digits themselves: serde_json's own reading of a float may miss its last bit, and
    /// a file must come out as it went in.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let digits = Box::<RawValue>::deserialize(deserializer)?;
        Self::parse(digits.get()).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_comes_out_of_json_as_it_went_in() {
        let numbers = [
            0.1,
            1e-300,
            123_456_789.123_456_78,
            5e-324,
            f64::MAX,
            -0.3,
            2.0,
        ];
        for number in numbers {
            let quantity = Quantity::new(number).unwrap();
            let text = serde_json::to_string(&quantity).unwrap();
            assert_eq!(
                serde_json::from_str::<Quantity>(&text).unwrap(),
                quantity,
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_no_finite_number_is_refused() {
        assert_eq!(Quantity::new(f64::NAN), None);
        assert!(serde_json::from_str::<Quantity>("1e999").is_err());
        assert!(serde_json::from_str::<Quantity>("\"1\"").is_err());
        assert_eq!(
            serde_json::to_string(&Quantity::new(-0.0).unwrap()).unwrap(),
            "0.0"
        );
    }
}
