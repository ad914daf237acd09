#include "kernels/providers/cudnn_sdpa.h"

#if __has_include(<cudnn.h>)
#include <cudnn_version.h>
#endif

// Page tables and lengths of the SDPA operation came with cuDNN 9.15.
#if defined(CUDNN_VERSION) && CUDNN_VERSION >= 91500

#include <array>
#include <cmath>
#include <deque>
#include <limits>
#include <stdexcept>
#include <vector>

#include "kernels/providers/cudnn_api.h"

namespace headway::kernels {
namespace {

// The tensors that a caller gives; those inside the graph are numbered from kFirstVirtual.
enum Uid : std::int64_t {
  kQ = 1,
  kK,
  kV,
  kO,
  kQLengths,
  kKvLengths,
  kPageTableK,
  kPageTableV,
  kScale,
  kMasked,
  kWindow,
  kFirstVirtual = 100
};

using Dims = std::vector<std::int64_t>;

Dims dense_strides(const Dims& dims) {
  Dims strides(dims.size(), 1);
  for (std::size_t i = dims.size() - 1; i > 0; --i) strides[i - 1] = strides[i] * dims[i];
  return strides;
}

// A graph under construction. Descriptors stay at their addresses (deque), since operations refer
// to tensors.
class GraphBuilder {
 public:
  explicit GraphBuilder(const CudnnApi& api) : api_(api) {}

  const CudnnDescriptor& tensor(std::int64_t uid, cudnnDataType_t type, const Dims& dims,
                                const Dims& strides, bool is_virtual = false,
                                bool by_value = false) {
    CudnnDescriptor& t = tensors_.emplace_back(api_, CUDNN_BACKEND_TENSOR_DESCRIPTOR,
                                               "tensor " + std::to_string(uid));
    t.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, uid)
        .set(CUDNN_ATTR_TENSOR_DATA_TYPE, type)
        .set(CUDNN_ATTR_TENSOR_DIMENSIONS, dims)
        .set(CUDNN_ATTR_TENSOR_STRIDES, strides)
        .set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, std::int64_t{16})
        .set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, is_virtual)
        .set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, by_value);
    return t.finalize();
  }
  const CudnnDescriptor& scalar(std::int64_t uid, cudnnDataType_t type) {
    return tensor(uid, type, {1, 1, 1, 1}, {1, 1, 1, 1}, false, true);
  }
  const CudnnDescriptor& intermediate(cudnnDataType_t type, const Dims& dims) {
    return tensor(next_virtual_++, type, dims, dense_strides(dims), true);
  }
  const CudnnDescriptor& intermediate(cudnnDataType_t type, const Dims& dims, const Dims& strides) {
    return tensor(next_virtual_++, type, dims, strides, true);
  }

  CudnnDescriptor& operation(cudnnBackendDescriptorType_t type, const char* what) {
    return operations_.emplace_back(api_, type, what);
  }

  // y = mode(x [, b [, t]]).
  const CudnnDescriptor& pointwise(cudnnPointwiseMode_t mode, cudnnDataType_t type,
                                   const Dims& dims, const CudnnDescriptor& x,
                                   const CudnnDescriptor* b = nullptr,
                                   const CudnnDescriptor* t = nullptr, std::int64_t axis = -1) {
    CudnnDescriptor& how =
        settings_.emplace_back(api_, CUDNN_BACKEND_POINTWISE_DESCRIPTOR, "pointwise mode");
    const cudnnDataType_t precision =
        type == CUDNN_DATA_INT32 ? CUDNN_DATA_INT32 : CUDNN_DATA_FLOAT;
    how.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode)
        .set(CUDNN_ATTR_POINTWISE_MATH_PREC, precision);
    if (axis >= 0) how.set(CUDNN_ATTR_POINTWISE_AXIS, axis);
    how.finalize();
    const CudnnDescriptor& y = intermediate(type, dims);
    CudnnDescriptor& op = operation(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, "pointwise");
    op.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, how)
        .set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x)
        .set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y);
    if (b != nullptr) op.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, *b);
    if (t != nullptr) op.set(CUDNN_ATTR_OPERATION_POINTWISE_TDESC, *t);
    op.finalize();
    return y;
  }

  const CudnnDescriptor& reduction(cudnnReduceTensorOp_t reduce, const Dims& dims,
                                   const CudnnDescriptor& x) {
    CudnnDescriptor& how =
        settings_.emplace_back(api_, CUDNN_BACKEND_REDUCTION_DESCRIPTOR, "reduction mode");
    how.set(CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 1, &reduce)
        .set(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_DATA_FLOAT)
        .finalize();
    const CudnnDescriptor& y = intermediate(CUDNN_DATA_FLOAT, dims);
    operation(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR, "reduction")
        .set(CUDNN_ATTR_OPERATION_REDUCTION_DESC, how)
        .set(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, x)
        .set(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, y)
        .finalize();
    return y;
  }

  void matmul(const CudnnDescriptor& a, const CudnnDescriptor& b, const CudnnDescriptor& c,
              const CudnnDescriptor& rows, const CudnnDescriptor* columns,
              const CudnnDescriptor* inner) {
    CudnnDescriptor& how = settings_.emplace_back(api_, CUDNN_BACKEND_MATMUL_DESCRIPTOR, "matmul");
    how.set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_DATA_FLOAT);
    const double padding = 0.0;
    how.set(CUDNN_ATTR_MATMUL_PADDING_VALUE, CUDNN_TYPE_DOUBLE, 1, &padding).finalize();
    CudnnDescriptor& op = operation(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR, "matmul");
    op.set(CUDNN_ATTR_OPERATION_MATMUL_DESC, how)
        .set(CUDNN_ATTR_OPERATION_MATMUL_ADESC, a)
        .set(CUDNN_ATTR_OPERATION_MATMUL_BDESC, b)
        .set(CUDNN_ATTR_OPERATION_MATMUL_CDESC, c)
        .set(CUDNN_ATTR_OPERATION_MATMUL_GEMM_M_OVERRIDE_DESC, rows);
    if (columns != nullptr) op.set(CUDNN_ATTR_OPERATION_MATMUL_GEMM_N_OVERRIDE_DESC, *columns);
    if (inner != nullptr) op.set(CUDNN_ATTR_OPERATION_MATMUL_GEMM_K_OVERRIDE_DESC, *inner);
    op.finalize();
  }

  const std::deque<CudnnDescriptor>& operations() const { return operations_; }

 private:
  const CudnnApi& api_;
  std::deque<CudnnDescriptor> tensors_, settings_, operations_;
  std::int64_t next_virtual_ = kFirstVirtual;
};

// The tensors that both graphs read and write.
struct Tensors {
  const CudnnDescriptor &q, &k_pages, &v_pages, &o, &q_lengths, &kv_lengths, &table_k, &table_v,
      &scale;
};

cudnnDataType_t io_type(const SdpaShape& shape) {
  return shape.dtype == "fp16" ? CUDNN_DATA_HALF : CUDNN_DATA_BFLOAT16;
}

Tensors make_tensors(GraphBuilder& graph, const SdpaShape& s) {
  const cudnnDataType_t io = io_type(s);
  const Dims q_dims{s.batch, s.heads, s.new_tokens, s.head_dim};
  const Dims q_strides{s.new_tokens * s.heads * s.head_dim, s.head_dim, s.heads * s.head_dim, 1};
  const Dims page_dims{s.pages, s.kv_heads, s.page_tokens, s.head_dim};  // PagedKv's layout
  const Dims page_strides{s.page_tokens * s.kv_heads * s.head_dim, s.head_dim,
                          s.kv_heads * s.head_dim, 1};
  const Dims lengths{s.batch, 1, 1, 1};
  const Dims table{s.batch, 1, (s.kv_tokens + s.page_tokens - 1) / s.page_tokens, 1};
  const auto dense = [&](Uid uid, cudnnDataType_t type,
                         const Dims& dims) -> const CudnnDescriptor& {
    return graph.tensor(uid, type, dims, dense_strides(dims));
  };
  return {
      graph.tensor(kQ, io, q_dims, q_strides),       graph.tensor(kK, io, page_dims, page_strides),
      graph.tensor(kV, io, page_dims, page_strides), graph.tensor(kO, io, q_dims, q_strides),
      dense(kQLengths, CUDNN_DATA_INT32, lengths),   dense(kKvLengths, CUDNN_DATA_INT32, lengths),
      dense(kPageTableK, CUDNN_DATA_INT32, table),   dense(kPageTableV, CUDNN_DATA_INT32, table),
      graph.scalar(kScale, CUDNN_DATA_FLOAT)};
}

void add_sdpa_operation(GraphBuilder& graph, const Tensors& t) {
  graph.operation(CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR, "SDPA forward")
      .set(CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC, t.q)
      .set(CUDNN_ATTR_OPERATION_SDPA_FWD_KDESC, t.k_pages)
      .set(CUDNN_ATTR_OPERATION_SDPA_FWD_VDESC, t.v_pages)
      .set(CUDNN_ATTR_OPERATION_SDPA_FWD_ODESC, t.o)
      .set(CUDNN_ATTR_OPERATION_SDPA_FWD_SCALEDESC, t.scale)
      .set(CUDNN_ATTR_OPERATION_SDPA_FWD_PAGE_TABLE_KDESC, t.table_k)
      .set(CUDNN_ATTR_OPERATION_SDPA_FWD_PAGE_TABLE_VDESC, t.table_v)
      .set(CUDNN_ATTR_OPERATION_SDPA_FWD_SEQ_LEN_QDESC, t.q_lengths)
      .set(CUDNN_ATTR_OPERATION_SDPA_FWD_SEQ_LEN_KVDESC, t.kv_lengths)
      .finalize();
}

const CudnnDescriptor& paged_load(GraphBuilder& graph, const CudnnDescriptor& pages,
                                  const CudnnDescriptor& lengths, const CudnnDescriptor& table,
                                  const CudnnDescriptor& loaded) {
  graph.operation(CUDNN_BACKEND_OPERATION_PAGED_CACHE_LOAD_DESCRIPTOR, "paged cache load")
      .set(CUDNN_ATTR_OPERATION_PAGED_CACHE_LOAD_CONTAINER_DESC, pages)
      .set(CUDNN_ATTR_OPERATION_PAGED_CACHE_LOAD_SEQUENCE_DESC, lengths)
      .set(CUDNN_ATTR_OPERATION_PAGED_CACHE_LOAD_PAGE_TABLE_DESC, table)
      .set(CUDNN_ATTR_OPERATION_PAGED_CACHE_LOAD_YDESC, loaded)
      .finalize();
  return loaded;
}

// Scores outside a sequence's lengths or above its (bottom-right) diagonal become -infinity.
const CudnnDescriptor& mask_scores(GraphBuilder& graph, const SdpaShape& s, const Tensors& t,
                                   const Dims& dims, const CudnnDescriptor* scores) {
  const CudnnDescriptor& masked = graph.scalar(kMasked, CUDNN_DATA_FLOAT);
  const auto int32 = CUDNN_DATA_INT32;
  const auto truth = CUDNN_DATA_BOOLEAN;
  const auto select = [&](const CudnnDescriptor& keep) {
    scores = &graph.pointwise(CUDNN_POINTWISE_BINARY_SELECT, CUDNN_DATA_FLOAT, dims, *scores,
                              &masked, &keep);
  };
  const auto& row =
      graph.pointwise(CUDNN_POINTWISE_GEN_INDEX, int32, dims, *scores, nullptr, nullptr, 2);
  const auto& column =
      graph.pointwise(CUDNN_POINTWISE_GEN_INDEX, int32, dims, *scores, nullptr, nullptr, 3);
  const auto& row_in = graph.pointwise(CUDNN_POINTWISE_CMP_LT, truth, dims, row, &t.q_lengths);
  const auto& column_in =
      graph.pointwise(CUDNN_POINTWISE_CMP_LT, truth, dims, column, &t.kv_lengths);
  select(graph.pointwise(CUDNN_POINTWISE_LOGICAL_AND, truth, dims, row_in, &column_in));
  const auto& row2 =
      graph.pointwise(CUDNN_POINTWISE_GEN_INDEX, int32, dims, *scores, nullptr, nullptr, 2);
  const auto& shifted = graph.pointwise(CUDNN_POINTWISE_ADD, int32, dims, row2, &t.kv_lengths);
  const auto& position = graph.pointwise(CUDNN_POINTWISE_SUB, int32, dims, shifted, &t.q_lengths);
  const auto& column2 =
      graph.pointwise(CUDNN_POINTWISE_GEN_INDEX, int32, dims, *scores, nullptr, nullptr, 3);
  select(graph.pointwise(CUDNN_POINTWISE_CMP_GE, truth, dims, position, &column2));
  if (s.window > 0) {
    const CudnnDescriptor& window = graph.scalar(kWindow, int32);
    const auto& reach = graph.pointwise(CUDNN_POINTWISE_ADD, int32, dims, column2, &window);
    select(graph.pointwise(CUDNN_POINTWISE_CMP_GT, truth, dims, reach, &position));
  }
  return *scores;
}

void add_masked_attention(GraphBuilder& graph, const SdpaShape& s, const Tensors& t) {
  const cudnnDataType_t io = io_type(s);
  const auto f32 = CUDNN_DATA_FLOAT;
  const Dims score_dims{s.batch, s.heads, s.new_tokens, s.kv_tokens};
  const Dims row_dims{s.batch, s.heads, s.new_tokens, 1};
  const Dims k_dims{s.batch, s.kv_heads, s.head_dim, s.kv_tokens};  // K transposed
  const Dims k_strides{s.kv_heads * s.head_dim * s.kv_tokens, s.head_dim * s.kv_tokens, 1,
                       s.head_dim};
  const Dims v_dims{s.batch, s.kv_heads, s.kv_tokens, s.head_dim};

  const auto& k = paged_load(graph, t.k_pages, t.kv_lengths, t.table_k,
                             graph.intermediate(io, k_dims, k_strides));
  const auto& raw = graph.intermediate(f32, score_dims);
  graph.matmul(t.q, k, raw, t.q_lengths, &t.kv_lengths, nullptr);
  const auto& scaled = graph.pointwise(CUDNN_POINTWISE_MUL, f32, score_dims, raw, &t.scale);
  const auto& scores = mask_scores(graph, s, t, score_dims, &scaled);
  const auto& top = graph.reduction(CUDNN_REDUCE_TENSOR_MAX, row_dims, scores);
  const auto& below = graph.pointwise(CUDNN_POINTWISE_SUB, f32, score_dims, scores, &top);
  const auto& weight = graph.pointwise(CUDNN_POINTWISE_EXP, f32, score_dims, below);
  const auto& sum = graph.reduction(CUDNN_REDUCE_TENSOR_ADD, row_dims, weight);
  const auto& share = graph.pointwise(CUDNN_POINTWISE_DIV, io, score_dims, weight, &sum);
  const auto& v =
      paged_load(graph, t.v_pages, t.kv_lengths, t.table_v, graph.intermediate(io, v_dims));
  graph.matmul(share, v, t.o, t.q_lengths, nullptr, &t.kv_lengths);
}

const CudnnApi& api() {
  static const CudnnApi loaded = CudnnApi::load();
  return loaded;
}

// One handle for the process: making one costs milliseconds and device memory.
cudnnHandle_t handle() {
  static const cudnnHandle_t made = [] {
    cudnnHandle_t h = nullptr;
    api().check(api().create(&h), "creating a handle");
    return h;
  }();
  return made;
}

}  // namespace

struct CudnnSdpa::State {
  explicit State(const SdpaShape& s) : shape(s), graph(api()) {}
  void build_plan(const char* device_json);

  SdpaShape shape;
  GraphBuilder graph;
  std::deque<CudnnDescriptor> kept;  // device, operation graph, heuristics: alive while the plan is
  std::optional<CudnnDescriptor> plan;
  std::deque<CudnnDescriptor> bound;  // a variant pack for each set of buffers
  float scale = 1.0f;
  float masked = -std::numeric_limits<float>::infinity();
  std::int32_t window = 0;
};

void CudnnSdpa::State::build_plan(const char* device_json) {
  CudnnDescriptor* device = nullptr;
  const cudnnHandle_t present = device_json == nullptr ? handle() : nullptr;
  if (device_json != nullptr) {
    device = &kept.emplace_back(api(), CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, "described device");
    const std::string json = device_json;
    device->set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
                static_cast<std::int64_t>(json.size()), json.data());
    device->finalize();
  }
  std::vector<cudnnBackendDescriptor_t> operations;
  for (const CudnnDescriptor& op : graph.operations()) operations.push_back(op.raw());
  CudnnDescriptor& whole =
      kept.emplace_back(api(), CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, "operation graph");
  whole.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
            static_cast<std::int64_t>(operations.size()), operations.data());
  if (device == nullptr)
    whole.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &present);
  whole.finalize();

  CudnnDescriptor& heuristics =
      kept.emplace_back(api(), CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, "heuristics");
  const cudnnBackendHeurMode_t mode = CUDNN_HEUR_MODE_A;
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, whole)
      .set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
  if (device != nullptr) heuristics.set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, *device);
  heuristics.finalize();

  constexpr int kMost = 8;
  std::array<cudnnBackendDescriptor_t, kMost> raw{};
  std::deque<CudnnDescriptor> configs;
  for (auto& r : raw)
    r = configs.emplace_back(api(), CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, "engine configuration")
            .raw();
  std::int64_t found = 0;
  api().check(api().get_attribute(heuristics.raw(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                  CUDNN_TYPE_BACKEND_DESCRIPTOR, kMost, &found, raw.data()),
              "asking the heuristics");
  std::string refusals;
  if (found == 0) {
    char words[512] = "";
    api().last_error(words, sizeof words);
    refusals = std::string("no engine for this attention: ") + words;
  }
  for (std::int64_t i = 0; i < std::min<std::int64_t>(found, kMost); ++i) {
    try {
      CudnnDescriptor p(api(), CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, "execution plan");
      if (device == nullptr)
        p.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &present);
      if (device != nullptr) p.set(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, *device);
      p.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configs[static_cast<std::size_t>(i)]);
      p.finalize();
      plan.emplace(std::move(p));
      kept.push_back(std::move(configs[static_cast<std::size_t>(i)]));
      return;
    } catch (const std::runtime_error& error) {
      refusals += std::string(error.what()) + "; ";
    }
  }
  throw std::runtime_error("cuDNN has no plan: " + refusals);
}

CudnnSdpa::CudnnSdpa(const SdpaShape& shape) {
  if (const std::string why = why_not(); !why.empty()) throw std::runtime_error(why);
  state_ = std::make_unique<State>(shape);
  state_->scale = 1.0f / std::sqrt(static_cast<float>(shape.head_dim));
  state_->window = static_cast<std::int32_t>(shape.window);
  const Tensors tensors = make_tensors(state_->graph, shape);
  if (shape.causal)
    add_masked_attention(state_->graph, shape, tensors);
  else
    add_sdpa_operation(state_->graph, tensors);
}

void CudnnSdpa::build_plan(const char* device_json) { state_->build_plan(device_json); }

CudnnSdpa::~CudnnSdpa() = default;

// An H200 as cudaGetDeviceProperties would tell of it.
const char* CudnnSdpa::h200_json() {
  return R"({"maxGridSize": [2147483647, 65535, 65535], "maxBlockSize": [1024, 1024, 64], )"
         R"("regsPerBlock": 65536, "multiProcessorCount": 132, "warpSize": 32, "maxSharedM)"
         R"(emoryPerBlock": 49152, "maxSharedMemoryPerBlockOptin": 232448, "reservedShared)"
         R"(MemoryPerBlock": 1024, "maxCtasPerSM": 32, "maxRegistersPerSM": 65536, "pciDev)"
         R"(iceId": 0, "isTccDriver": 0, "supportCoopLaunch": 1, "smClockRateKHz": 1980000)"
         R"(, "memClockRateKHz": 3201000, "l2CacheSize": 62914560, "deviceName": "NVIDIA H)"
         R"(200", "deviceVer": 900, "driverVer": 13000, "totalGlobalMem": 150754820096, "c)"
         R"(udaDeviceId": 0, "maxThreadsPerBlock": 1024, "maxThreadsPerSM": 2048})";
}

std::string CudnnSdpa::why_not() {
  if (!api().ok()) return api().library.why_not();
  // The SDPA operation came with 9.13, its page tables and lengths with 9.15.
  if (const std::size_t version = api().get_version(); version < 91500)
    return "cuDNN " + std::to_string(version) + " is too old for paged attention, which needs 9.15";
  return "";
}

std::int64_t CudnnSdpa::workspace_bytes() const {
  return state_->plan->get_int64(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE);
}

int CudnnSdpa::bind(const SdpaPointers& p) {
  State& s = *state_;
  std::vector<std::int64_t> uids{kQ,         kK,          kV,          kO,    kQLengths,
                                 kKvLengths, kPageTableK, kPageTableV, kScale};
  std::vector<const void*> values{p.q,          p.k_pages,    p.v_pages,    p.o,     p.q_lengths,
                                  p.kv_lengths, p.page_table, p.page_table, &s.scale};
  if (s.shape.causal) {
    uids.push_back(kMasked);
    values.push_back(&s.masked);
    if (s.shape.window > 0) {
      uids.push_back(kWindow);
      values.push_back(&s.window);
    }
  }
  CudnnDescriptor& pack =
      s.bound.emplace_back(api(), CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, "variant pack");
  const auto count = static_cast<std::int64_t>(uids.size());
  pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, uids)
      .set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, count, values.data())
      .set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &p.workspace)
      .finalize();
  return static_cast<int>(s.bound.size()) - 1;
}

void CudnnSdpa::run(int bound, void* cuda_stream) {
  State& s = *state_;
  api().check(api().set_stream(handle(), static_cast<cudaStream_t>(cuda_stream)),
              "setting a stream");
  api().check(
      api().execute(handle(), s.plan->raw(), s.bound[static_cast<std::size_t>(bound)].raw()),
      "attention");
}

}  // namespace headway::kernels

#else

#include <stdexcept>

namespace headway::kernels {

struct CudnnSdpa::State {};
const char* CudnnSdpa::h200_json() { return ""; }
std::string CudnnSdpa::why_not() { return "cuDNN: built without its headers (9.15 or newer)"; }
CudnnSdpa::CudnnSdpa(const SdpaShape&) { throw std::runtime_error(why_not()); }
CudnnSdpa::~CudnnSdpa() = default;
void CudnnSdpa::build_plan(const char*) {}
std::int64_t CudnnSdpa::workspace_bytes() const { return 0; }
int CudnnSdpa::bind(const SdpaPointers&) { return 0; }
void CudnnSdpa::run(int, void*) {}

}  // namespace headway::kernels

#endif
