//! Every kernel, without a GPU: it validates, it translates to SPIR-V, MSL and HLSL, its bindings are those of the
//! table, its uniform struct is the twin of the Rust struct, and field arithmetic indexes by constants only.

use naga::{
    back,
    proc::Layouter,
    valid::{Capabilities, ValidationFlags, Validator},
};
use prooflane::{
    encoding::Format,
    kernel::{
        Access, Code, Kernel, compose,
        table::{PROBE_FLOAT, TABLE},
    },
};

/// Bytes of workgroup memory that WebGPU promises.
const MEMORY: u32 = 16384;

fn each(check: impl Fn(&str, &Kernel, &naga::Module, &naga::valid::ModuleInfo)) {
    let variants = Format::ALL.into_iter().flat_map(|format| Code::ALL.map(|code| (format, code)));
    for (format, code) in variants {
        for kernel in TABLE {
            let text = compose(kernel, format, code);
            let label = format!("{}/{}/{code:?}", kernel.name, format.name());
            let module =
                naga::front::wgsl::parse_str(&text).unwrap_or_else(|e| panic!("{label}: {}", e.emit_to_string(&text)));
            // The portable format has to pass as plain WebGPU.
            let capabilities = match format {
                Format::U64 => Capabilities::SHADER_INT64,
                Format::U32 => Capabilities::empty(),
            };
            let info = Validator::new(ValidationFlags::all(), capabilities)
                .validate(&module)
                .unwrap_or_else(|e| panic!("{label}: {e:?}"));
            check(&label, kernel, &module, &info);
        }
    }
}

#[test]
fn every_kernel_translates() {
    each(|label, kernel, module, info| {
        let entry = (naga::ShaderStage::Compute, kernel.name.to_string());
        let spv = back::spv::Options::default();
        let pipeline = back::spv::PipelineOptions { shader_stage: entry.0, entry_point: entry.1.clone() };
        let words =
            back::spv::write_vec(module, info, &spv, Some(&pipeline)).unwrap_or_else(|e| panic!("{label}: {e}"));
        assert!(words.len() > 100, "{label}");
        let msl = back::msl::Options { lang_version: (2, 4), fake_missing_bindings: true, ..Default::default() };
        let pipeline = back::msl::PipelineOptions { entry_point: Some(entry.clone()), ..Default::default() };
        let (text, _) =
            back::msl::write_string(module, info, &msl, &pipeline).unwrap_or_else(|e| panic!("{label}: {e}"));
        assert!(text.contains(kernel.name), "{label}");
        let hlsl = back::hlsl::Options {
            shader_model: back::hlsl::ShaderModel::V6_0,
            fake_missing_bindings: true,
            ..Default::default()
        };
        let pipeline = back::hlsl::PipelineOptions { entry_point: Some(entry) };
        let mut text = String::new();
        back::hlsl::Writer::new(&mut text, &hlsl, &pipeline)
            .write(module, info, None)
            .unwrap_or_else(|e| panic!("{label}: {e}"));
        assert!(text.contains(kernel.name), "{label}");
    });
}

/// Floating point of 64 bits, which Metal lacks.
#[test]
fn floating_point_translates() {
    for (kernel, code) in PROBE_FLOAT.iter().flat_map(|kernel| Code::ALL.map(|code| (kernel, code))) {
        let text = compose(kernel, Format::U64, code);
        let module = naga::front::wgsl::parse_str(&text).unwrap_or_else(|e| panic!("{}", e.emit_to_string(&text)));
        let capabilities = Capabilities::SHADER_INT64 | Capabilities::FLOAT64;
        let info = Validator::new(ValidationFlags::all(), capabilities).validate(&module).expect(kernel.name);
        let entry = back::spv::PipelineOptions {
            shader_stage: naga::ShaderStage::Compute,
            entry_point: kernel.name.to_string(),
        };
        let words = back::spv::write_vec(&module, &info, &back::spv::Options::default(), Some(&entry));
        assert!(words.expect(kernel.name).len() > 100);
    }
}

#[test]
fn bindings_and_twins_agree_with_the_table() {
    each(|label, kernel, module, _| {
        let mut layouter = Layouter::default();
        layouter.update(module.to_ctx()).unwrap_or_else(|e| panic!("{label}: {e}"));
        let mut storage = Vec::new();
        for (_, variable) in module.global_variables.iter() {
            let Some(binding) = &variable.binding else { continue };
            assert_eq!(binding.group, 0, "{label}");
            match variable.space {
                naga::AddressSpace::Uniform => {
                    assert_eq!(binding.binding, 0, "{label}");
                    let ty = &module.types[variable.ty];
                    let naga::TypeInner::Struct { members, span } = &ty.inner else { panic!("{label}: not a struct") };
                    let fields: Vec<_> =
                        members.iter().map(|m| (m.name.clone().unwrap_or_default(), m.offset as usize)).collect();
                    let twin: Vec<_> = kernel.params.fields.iter().map(|&(name, at)| (name.to_string(), at)).collect();
                    assert_eq!(ty.name.as_deref(), Some(kernel.params.name), "{label}");
                    assert_eq!(fields, twin, "{label}");
                    assert_eq!(*span as usize, kernel.params.size, "{label}");
                }
                naga::AddressSpace::Storage { access } => {
                    let write = access.contains(naga::StorageAccess::STORE);
                    storage.push((binding.binding, if write { Access::Write } else { Access::Read }));
                }
                other => panic!("{label}: {other:?}"),
            }
        }
        storage.sort_by_key(|(binding, _)| *binding);
        let table: Vec<_> = (1..).zip(kernel.bindings.iter().copied()).collect();
        assert_eq!(storage, table, "{label}");
        let entry = module.entry_points.iter().find(|e| e.name == kernel.name).unwrap_or_else(|| panic!("{label}"));
        assert_eq!(entry.workgroup_size, [kernel.workgroup, 1, 1], "{label}");
        assert_eq!(module.entry_points.len(), 1, "{label}");
        let bytes: u32 = module
            .global_variables
            .iter()
            .filter(|(_, v)| v.space == naga::AddressSpace::WorkGroup)
            .map(|(_, v)| layouter[v.ty].size)
            .sum();
        assert!(bytes <= MEMORY, "{label}: {bytes} bytes of workgroup memory, WebGPU promises {MEMORY}");
        assert!(storage.len() <= 8, "{label}: WebGPU promises 8 storage bindings");
    });
}

/// A run-time index into a function's own array moves the array to memory: many times slower, and miscompiled by some
/// drivers under register pressure.
#[test]
fn field_arithmetic_indexes_by_constants() {
    each(|label, _, module, _| {
        for (_, function) in module.functions.iter() {
            let name = function.name.as_deref().unwrap_or_default();
            if !(name.starts_with("fr_") || name.starts_with("fq_")) {
                continue;
            }
            for (_, expression) in function.expressions.iter() {
                assert!(!matches!(expression, naga::Expression::Access { .. }), "{label}: {name}");
            }
        }
    });
}

#[test]
fn names_are_unique() {
    let mut names: Vec<_> = TABLE.iter().map(|kernel| kernel.name).collect();
    names.sort_unstable();
    let count = names.len();
    names.dedup();
    assert_eq!(names.len(), count);
}
