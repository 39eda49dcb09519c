//! Numbers of the C interface as types of their own. Unknown numbers are accepted.
// SPDX-License-Identifier: MIT

macro_rules! id {
    ($(#[$doc:meta])* $name:ident: $int:ident $($member:ident = $value:ident,)*) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
        #[repr(transparent)]
        pub struct $name(pub $int);
        #[allow(missing_docs)]
        impl $name {
            $(pub const $member: Self = Self(sys::$value as $int);)*
        }
        impl core::fmt::Debug for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                $(if *self == Self::$member {
                    return f.write_str(stringify!($member));
                })*
                write!(f, "{}({})", stringify!($name), self.0)
            }
        }
    };
}

macro_rules! bits {
    ($(#[$doc:meta])* $name:ident: $int:ident $($member:ident = $value:ident,)*) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
        #[repr(transparent)]
        pub struct $name(pub $int);
        #[allow(missing_docs)]
        impl $name {
            /// No bit.
            pub const NONE: Self = Self(0);
            $(pub const $member: Self = Self(sys::$value as $int);)*
            /// Whether all bits of `other` are set.
            pub fn contains(self, other: Self) -> bool {
                self.0 & other.0 == other.0
            }
        }
        impl core::ops::BitOr for $name {
            type Output = Self;
            fn bitor(self, other: Self) -> Self {
                Self(self.0 | other.0)
            }
        }
        impl core::fmt::Debug for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                let mut rest = self.0;
                f.write_str(stringify!($name))?;
                f.write_str("(")?;
                $(if self.contains(Self::$member) {
                    rest &= !Self::$member.0;
                    f.write_str(concat!(stringify!($member), " "))?;
                })*
                write!(f, "{:#x})", rest)
            }
        }
    };
}
pub(crate) use {bits, id};
