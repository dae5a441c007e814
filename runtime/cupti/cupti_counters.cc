#include "runtime/cupti/cupti_counters.h"

#include <array>
#include <cstddef>

#include "runtime/cupti/cupti_library.h"
#include "runtime/cupti/cupti_profiler_api.h"

namespace tcc {
namespace {

// The metrics, whose names are the same on every device from sm_75 to sm_90.
constexpr std::array kMetrics = {
    "gpu__time_duration.sum",
    "dram__bytes_read.sum",
    "dram__bytes_write.sum",
    "lts__t_sector_hit_rate.pct",
    "sm__warps_active.avg.pct_of_peak_sustained_active",
    "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active",
    "sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_active",
};

LaunchCounters CountersOf(const std::array<double, kMetrics.size()>& values) {
  return {.nanoseconds = values[0],
          .read_bytes = values[1],
          .written_bytes = values[2],
          .l2_hit_percent = values[3],
          .occupancy_percent = values[4],
          .tensor_percent = values[5],
          .fma_percent = values[6]};
}

constexpr Symbol<cupti::ProfilerLibrary> kSymbols[] = {
    SymbolFor<&cupti::ProfilerLibrary::initialize>("cuptiProfilerInitialize"),
    SymbolFor<&cupti::ProfilerLibrary::deinitialize>("cuptiProfilerDeInitialize"),
    SymbolFor<&cupti::ProfilerLibrary::chip_name>("cuptiDeviceGetChipName"),
    SymbolFor<&cupti::ProfilerLibrary::host_initialize>("cuptiProfilerHostInitialize"),
    SymbolFor<&cupti::ProfilerLibrary::host_deinitialize>("cuptiProfilerHostDeinitialize"),
    SymbolFor<&cupti::ProfilerLibrary::host_add_metrics>("cuptiProfilerHostConfigAddMetrics"),
    SymbolFor<&cupti::ProfilerLibrary::host_config_size>("cuptiProfilerHostGetConfigImageSize"),
    SymbolFor<&cupti::ProfilerLibrary::host_config>("cuptiProfilerHostGetConfigImage"),
    SymbolFor<&cupti::ProfilerLibrary::host_evaluate>("cuptiProfilerHostEvaluateToGpuValues"),
    SymbolFor<&cupti::ProfilerLibrary::enable>("cuptiRangeProfilerEnable"),
    SymbolFor<&cupti::ProfilerLibrary::disable>("cuptiRangeProfilerDisable"),
    SymbolFor<&cupti::ProfilerLibrary::data_size>("cuptiRangeProfilerGetCounterDataSize"),
    SymbolFor<&cupti::ProfilerLibrary::data_initialize>(
        "cuptiRangeProfilerCounterDataImageInitialize"),
    SymbolFor<&cupti::ProfilerLibrary::set_config>("cuptiRangeProfilerSetConfig"),
    SymbolFor<&cupti::ProfilerLibrary::start>("cuptiRangeProfilerStart"),
    SymbolFor<&cupti::ProfilerLibrary::stop>("cuptiRangeProfilerStop"),
    SymbolFor<&cupti::ProfilerLibrary::decode>("cuptiRangeProfilerDecodeData"),
    SymbolFor<&cupti::ProfilerLibrary::data_info>("cuptiRangeProfilerGetCounterDataInfo"),
    SymbolFor<&cupti::ProfilerLibrary::result_string>("cuptiGetResultString"),
};

StatusOr<cupti::ProfilerLibrary> OpenLibrary() {
  TCC_ASSIGN_OR_RETURN(OpenedLibrary opened, cupti::OpenSharedLibrary());
  return BindAll(opened, kSymbols, "CUPTI of CUDA 12.6 or newer");
}

template <typename Params>
Params Sized(size_t bytes) {
  Params params{};
  params.bytes = bytes;
  return params;
}

// Makes a struct of CUPTI's that holds its own size, up to the end of its last field.
#define TCC_PARAMS(type, last) Sized<type>(offsetof(type, last) + sizeof(type::last))

// A profiling session that lasts until the end of the scope. Calls are made in the order of its
// functions.
class Session {
 public:
  Session(const cupti::ProfilerLibrary& library, const CudaContext& context)
      : library_(library), context_(context) {}
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  ~Session() {
    if (profiler_ != nullptr) {
      cupti::ProfilerParams disable = TCC_PARAMS(cupti::ProfilerParams, profiler);
      disable.profiler = profiler_;
      library_.disable(&disable);
    }
    if (host_ != nullptr) {
      cupti::HostParams deinitialize = TCC_PARAMS(cupti::HostParams, host);
      deinitialize.host = host_;
      library_.host_deinitialize(&deinitialize);
    }
    if (initialized_) {
      cupti::PlainParams deinitialize = TCC_PARAMS(cupti::PlainParams, reserved);
      library_.deinitialize(&deinitialize);
    }
  }

  Status Open() {
    cupti::PlainParams initialize = TCC_PARAMS(cupti::PlainParams, reserved);
    TCC_RETURN_IF_ERROR(Expect(library_.initialize(&initialize), "cuptiProfilerInitialize"));
    initialized_ = true;
    cupti::ChipNameParams chip = TCC_PARAMS(cupti::ChipNameParams, name);
    chip.device = static_cast<size_t>(context_.device().ordinal);
    TCC_RETURN_IF_ERROR(Expect(library_.chip_name(&chip), "cuptiDeviceGetChipName"));
    cupti::HostInitializeParams host = TCC_PARAMS(cupti::HostInitializeParams, host);
    host.profiler = cupti::kRangeProfiler;
    host.chip = chip.name;
    TCC_RETURN_IF_ERROR(Expect(library_.host_initialize(&host), "cuptiProfilerHostInitialize"));
    host_ = host.host;
    return OkStatus();
  }

  // Builds the configuration that tells the device which counters to read.
  Status Configure() {
    cupti::AddMetricsParams add = TCC_PARAMS(cupti::AddMetricsParams, count);
    add.host = host_;
    add.names = names_.data();
    add.count = names_.size();
    TCC_RETURN_IF_ERROR(
        Expect(library_.host_add_metrics(&add), "cuptiProfilerHostConfigAddMetrics"));
    cupti::ConfigSizeParams size = TCC_PARAMS(cupti::ConfigSizeParams, config_bytes);
    size.host = host_;
    TCC_RETURN_IF_ERROR(
        Expect(library_.host_config_size(&size), "cuptiProfilerHostGetConfigImageSize"));
    config_.resize(size.config_bytes);
    cupti::ConfigParams config = TCC_PARAMS(cupti::ConfigParams, config);
    config.host = host_;
    config.config_bytes = config_.size();
    config.config = config_.data();
    return Expect(library_.host_config(&config), "cuptiProfilerHostGetConfigImage");
  }

  Status Start(size_t most_launches) {
    cupti::EnableParams enable = TCC_PARAMS(cupti::EnableParams, profiler);
    enable.context = context_.handle();
    TCC_RETURN_IF_ERROR(Expect(library_.enable(&enable), "cuptiRangeProfilerEnable"));
    profiler_ = enable.profiler;
    TCC_RETURN_IF_ERROR(MakeRoom(most_launches));
    cupti::SetConfigParams set = TCC_PARAMS(cupti::SetConfigParams, target_nesting_level);
    set.profiler = profiler_;
    set.config_bytes = config_.size();
    set.config = config_.data();
    set.data_bytes = data_.size();
    set.data = data_.data();
    set.range = cupti::kAutoRange;
    set.replay = cupti::kKernelReplay;
    set.most_ranges = most_launches;
    set.nesting_levels = 1;
    set.least_nesting_level = 1;
    TCC_RETURN_IF_ERROR(Expect(library_.set_config(&set), "cuptiRangeProfilerSetConfig"));
    cupti::ProfilerParams start = TCC_PARAMS(cupti::ProfilerParams, profiler);
    start.profiler = profiler_;
    return Expect(library_.start(&start), "cuptiRangeProfilerStart");
  }

  Status Stop() {
    cupti::StopParams stop = TCC_PARAMS(cupti::StopParams, all_passes_submitted);
    stop.profiler = profiler_;
    TCC_RETURN_IF_ERROR(Expect(library_.stop(&stop), "cuptiRangeProfilerStop"));
    cupti::DecodeParams decode = TCC_PARAMS(cupti::DecodeParams, dropped);
    decode.profiler = profiler_;
    TCC_RETURN_IF_ERROR(Expect(library_.decode(&decode), "cuptiRangeProfilerDecodeData"));
    if (decode.dropped == 0) return OkStatus();
    return Missing("CUPTI has dropped the counters of {} launches", decode.dropped);
  }

  StatusOr<std::vector<LaunchCounters>> Read() {
    cupti::DataInfoParams info = TCC_PARAMS(cupti::DataInfoParams, ranges);
    info.data = data_.data();
    info.data_bytes = data_.size();
    TCC_RETURN_IF_ERROR(Expect(library_.data_info(&info), "cuptiRangeProfilerGetCounterDataInfo"));
    std::vector<LaunchCounters> launches;
    for (size_t range = 0; range < info.ranges; ++range) {
      std::array<double, kMetrics.size()> values{};
      cupti::EvaluateParams evaluate = TCC_PARAMS(cupti::EvaluateParams, values);
      evaluate.host = host_;
      evaluate.data = data_.data();
      evaluate.data_bytes = data_.size();
      evaluate.range = range;
      evaluate.names = names_.data();
      evaluate.count = names_.size();
      evaluate.values = values.data();
      TCC_RETURN_IF_ERROR(
          Expect(library_.host_evaluate(&evaluate), "cuptiProfilerHostEvaluateToGpuValues"));
      launches.push_back(CountersOf(values));
    }
    return launches;
  }

 private:
  // Allocates the memory for the counters of so many launches.
  Status MakeRoom(size_t most_launches) {
    cupti::DataSizeParams size = TCC_PARAMS(cupti::DataSizeParams, data_bytes);
    size.profiler = profiler_;
    size.names = names_.data();
    size.count = names_.size();
    size.most_ranges = most_launches;
    size.most_nodes = static_cast<uint32_t>(most_launches);
    TCC_RETURN_IF_ERROR(Expect(library_.data_size(&size), "cuptiRangeProfilerGetCounterDataSize"));
    data_.resize(size.data_bytes);
    cupti::DataInitializeParams initialize = TCC_PARAMS(cupti::DataInitializeParams, data);
    initialize.profiler = profiler_;
    initialize.data_bytes = data_.size();
    initialize.data = data_.data();
    return Expect(library_.data_initialize(&initialize),
                  "cuptiRangeProfilerCounterDataImageInitialize");
  }

  Status Expect(int result, const char* call) const {
    if (result == 0) return OkStatus();
    if (result == cupti::kInsufficientPrivileges ||
        result == cupti::kVirtualInsufficientPrivileges) {
      return Missing(
          "{} fails: the user may not read GPU counters (ERR_NVGPUCTRPERM); it takes root, "
          "CAP_SYS_ADMIN or the driver's option NVreg_RestrictProfilingToAdminUsers=0",
          call);
    }
    const char* text = nullptr;
    library_.result_string(result, &text);
    return Missing("{} fails: {} ({})", call, text != nullptr ? text : "unknown error", result);
  }

  const cupti::ProfilerLibrary& library_;
  const CudaContext& context_;
  std::array<const char*, kMetrics.size()> names_ = kMetrics;
  bool initialized_ = false;
  void* host_ = nullptr;
  void* profiler_ = nullptr;
  std::vector<uint8_t> config_, data_;
};

#undef TCC_PARAMS

}  // namespace

StatusOr<std::vector<LaunchCounters>> CountLaunches(const CudaContext& context,
                                                    size_t most_launches,
                                                    const std::function<Status()>& run) {
  TCC_ASSIGN_OR_RETURN(cupti::ProfilerLibrary library, OpenLibrary());
  Session session(library, context);
  TCC_RETURN_IF_ERROR(session.Open());
  TCC_RETURN_IF_ERROR(session.Configure());
  TCC_RETURN_IF_ERROR(session.Start(most_launches));
  Status ran = run();
  Status stopped = session.Stop();
  TCC_RETURN_IF_ERROR(ran);
  TCC_RETURN_IF_ERROR(stopped);
  return session.Read();
}

}  // namespace tcc
