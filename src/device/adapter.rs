//! Choosing an adapter: best first, or by index, backend, PCI address or part of the name.
//!
//! `WGPU_BACKEND`, `WGPU_ADAPTER_NAME` and the other variables of wgpu are honoured.

use std::{fmt, str::FromStr};

use super::error::DeviceError;

/// Which adapter to open.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Select {
    /// The best: discrete before integrated, virtual and software; `WGPU_ADAPTER_NAME` decides if set.
    #[default]
    Best,
    /// Position in the list that [`adapters`] returns.
    Index(usize),
    /// First adapter of a backend: `vulkan`, `metal`, `dx12`.
    Backend(wgpu::Backend),
    /// PCI address as `bus:device.function`, compared without case.
    Pci(String),
    /// First adapter whose name contains this, without case.
    Name(String),
}

impl FromStr for Select {
    type Err = std::convert::Infallible;

    /// `auto`, `#2` or `2` (up to two digits), `vulkan`/`metal`/`dx12`, `pci:0000:41:00.0`; anything else is part of a name.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let lower = text.trim().to_lowercase();
        Ok(match lower.as_str() {
            "" | "auto" | "best" => Self::Best,
            "vulkan" | "vk" => Self::Backend(wgpu::Backend::Vulkan),
            "metal" => Self::Backend(wgpu::Backend::Metal),
            "dx12" | "d3d12" => Self::Backend(wgpu::Backend::Dx12),
            other => {
                if let Some(pci) = other.strip_prefix("pci:") {
                    Self::Pci(pci.into())
                } else if let Some(index) = index(other) {
                    Self::Index(index)
                } else {
                    Self::Name(other.into())
                }
            }
        })
    }
}

/// `#7`, or up to two digits: cards are named by longer numbers.
fn index(text: &str) -> Option<usize> {
    let digits = text.strip_prefix('#').or((text.len() <= 2).then_some(text))?;
    // `parse` would take a sign too.
    digits.bytes().all(|digit| digit.is_ascii_digit()).then(|| digits.parse().ok())?
}

impl fmt::Display for Select {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Best => write!(f, "auto"),
            Self::Index(index) => write!(f, "#{index}"),
            Self::Backend(backend) => write!(f, "{backend}"),
            Self::Pci(pci) => write!(f, "pci:{pci}"),
            Self::Name(name) => write!(f, "{name}"),
        }
    }
}

impl Select {
    fn matches(&self, index: usize, info: &wgpu::AdapterInfo, wanted_name: Option<&str>) -> bool {
        let has = |part: &str| info.name.to_lowercase().contains(&part.to_lowercase());
        match self {
            Self::Best => wanted_name.is_none_or(has),
            Self::Index(wanted) => *wanted == index,
            Self::Backend(backend) => *backend == info.backend,
            Self::Pci(pci) => !pci.is_empty() && info.device_pci_bus_id.eq_ignore_ascii_case(pci),
            Self::Name(name) => has(name),
        }
    }
}

/// The instance every device is opened from. `VALIDATION_INDIRECT_CALL` is cleared unless asked for by variable:
/// it is on by default in release builds and caps buffers just below 4 GiB on NVIDIA.
fn instance() -> wgpu::Instance {
    let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
    descriptor.flags.remove(wgpu::InstanceFlags::VALIDATION_INDIRECT_CALL);
    wgpu::Instance::new(descriptor.with_env())
}

/// Lower is better.
fn rank(info: &wgpu::AdapterInfo) -> u8 {
    match info.device_type {
        wgpu::DeviceType::DiscreteGpu => 0,
        wgpu::DeviceType::IntegratedGpu => 1,
        wgpu::DeviceType::VirtualGpu => 2,
        wgpu::DeviceType::Other => 3,
        wgpu::DeviceType::Cpu => 4,
    }
}

/// Every adapter that can run compute shaders, best first.
pub fn adapters() -> Vec<wgpu::Adapter> {
    let backends = wgpu::Backends::from_env().unwrap_or(wgpu::Backends::PRIMARY);
    let mut found = pollster::block_on(instance().enumerate_adapters(backends));
    found.retain(|adapter| {
        let flags = adapter.get_downlevel_capabilities().flags;
        flags.contains(wgpu::DownlevelFlags::COMPUTE_SHADERS)
    });
    found.sort_by_key(|adapter| rank(&adapter.get_info()));
    found
}

/// The first adapter that `select` names.
pub fn choose(select: &Select) -> Result<wgpu::Adapter, DeviceError> {
    let found = adapters();
    let wanted_name = std::env::var_os("WGPU_ADAPTER_NAME").map(|name| name.to_string_lossy().into_owned());
    let wanted_name = wanted_name.as_deref().filter(|name| !name.is_empty());
    // A backend that is not there hides every adapter.
    let backend = std::env::var_os("WGPU_BACKEND").map(|name| name.to_string_lossy().into_owned());
    let backend = backend.filter(|name| found.is_empty() && !name.is_empty());
    let names = found.iter().enumerate().map(|(index, adapter)| describe(index, &adapter.get_info())).collect();
    found
        .into_iter()
        .enumerate()
        .find(|(index, adapter)| select.matches(*index, &adapter.get_info(), wanted_name))
        .map(|(_, adapter)| adapter)
        .ok_or_else(|| DeviceError::NoAdapter {
            wanted: match (select, wanted_name, backend) {
                (_, _, Some(backend)) => format!("{select} with WGPU_BACKEND={backend}"),
                (Select::Best, Some(name), _) => format!("WGPU_ADAPTER_NAME={name}"),
                _ => select.to_string(),
            },
            found: names,
        })
}

/// `#0 NVIDIA H200 (vulkan)`.
pub fn describe(index: usize, info: &wgpu::AdapterInfo) -> String {
    format!("#{index} {} ({})", info.name, info.backend)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selections_are_read_as_written() {
        for (text, want) in [
            ("auto", Select::Best),
            ("", Select::Best),
            ("#3", Select::Index(3)),
            ("0", Select::Index(0)),
            ("4090", Select::Name("4090".into())),
            ("Vulkan", Select::Backend(wgpu::Backend::Vulkan)),
            ("pci:0000:41:00.0", Select::Pci("0000:41:00.0".into())),
            ("llvmpipe", Select::Name("llvmpipe".into())),
            ("+7", Select::Name("+7".into())),
            ("#+7", Select::Name("#+7".into())),
        ] {
            assert_eq!(text.parse::<Select>(), Ok(want), "{text}");
        }
    }
}
