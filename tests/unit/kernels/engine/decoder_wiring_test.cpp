// The decoder's wiring against the architecture written out in double: embedding, norms, rotation,
// grouped heads, causal attention, gated MLP, residuals. Keys and values are rounded to bf16 as the
// pages hold them.
#include <cmath>
#include <vector>

#include "kernels/cpu/random_data.h"
#include "kernels/cpu/reference.h"
#include "kernels/engine/decoder.h"
#include "kernels/engine/reference_decoder.h"
#include "tests/support/catch.h"
#include "tests/unit/kernels/engine/toy_scenario.h"

namespace headway::kernels {
namespace {

constexpr std::uint64_t kSeed = 9;
using Vector = std::vector<double>;

struct Matrix {
  std::vector<cpu::Bf16> rows;
  std::int64_t n = 0, k = 0;
  Vector times(const Vector& x) const {
    Vector y(static_cast<std::size_t>(n));
    for (std::int64_t r = 0; r < n; ++r) {
      for (std::int64_t i = 0; i < k; ++i) {
        y[static_cast<std::size_t>(r)] +=
            x[static_cast<std::size_t>(i)] * cpu::widen(rows[static_cast<std::size_t>(r * k + i)]);
      }
    }
    return y;
  }
};

Matrix matrix(const LlamaShape& s, Product product, std::int32_t layer) {
  const ProductSize size = product_size(s, product);
  Matrix m{std::vector<cpu::Bf16>(static_cast<std::size_t>(size.n * size.k)), size.n, size.k};
  cpu::NormalValues(weight_seed(kSeed, product, layer), product_deviation(s, product)).fill(m.rows);
  return m;
}

double rounded(double x) { return cpu::widen(cpu::narrow(static_cast<float>(x))); }

// Logits after the last token.
class WrittenOut {
 public:
  explicit WrittenOut(const LlamaShape& s) : s_(s) {
    cpu::NormalValues random(norm_seed(kSeed), kNormDeviation);
    for (std::int32_t i = 0; i < s.norms() * s.hidden; ++i) {
      norms_.push_back(rounded(1.0 + random.next()));
    }
    embedding_.resize(static_cast<std::size_t>(s.vocab * s.hidden));
    cpu::NormalValues(embedding_seed(kSeed), 1).fill(embedding_);
  }

  Vector logits(const std::vector<std::int32_t>& text) {
    std::vector<Vector> x;
    for (const std::int32_t token : text) {
      Vector& row = x.emplace_back();
      for (std::int32_t i = 0; i < s_.hidden; ++i) {
        row.push_back(cpu::widen(embedding_[static_cast<std::size_t>(token * s_.hidden + i)]));
      }
    }
    for (std::int32_t layer = 0; layer < s_.layers; ++layer) run_layer(layer, x);
    return matrix(s_, Product::kLmHead, 0).times(norm(2 * s_.layers, x.back()));
  }

 private:
  Vector norm(std::int32_t index, const Vector& x) const {
    double squares = 0;
    for (const double v : x) squares += v * v;
    const double rms = std::sqrt(squares / static_cast<double>(x.size()) + 1e-5);
    Vector y;
    for (std::size_t i = 0; i < x.size(); ++i) {
      y.push_back(x[i] / rms * norms_[static_cast<std::size_t>(index * s_.hidden) + i]);
    }
    return y;
  }

  // Rotates the head that begins there: pairs (i, i + d/2) by position / 10000^(2i/d).
  void rotate(Vector& v, std::int32_t first, std::int32_t position) const {
    const std::int32_t half = s_.head_dim / 2;
    for (std::int32_t i = 0; i < half; ++i) {
      const double angle = position * std::pow(10000.0, -2.0 * i / s_.head_dim);
      double& a = v[static_cast<std::size_t>(first + i)];
      double& b = v[static_cast<std::size_t>(first + i + half)];
      const double was = a;
      a = was * std::cos(angle) - b * std::sin(angle);
      b = was * std::sin(angle) + b * std::cos(angle);
    }
  }

  void run_layer(std::int32_t layer, std::vector<Vector>& x) const {
    const Matrix qkv = matrix(s_, Product::kQkv, layer), o = matrix(s_, Product::kO, layer);
    const Matrix gate_up = matrix(s_, Product::kGateUp, layer),
                 down = matrix(s_, Product::kDown, layer);
    std::vector<Vector> rows;
    for (std::size_t p = 0; p < x.size(); ++p) {
      Vector r = qkv.times(norm(2 * layer, x[p]));
      for (std::int32_t h = 0; h < s_.heads + s_.kv_heads; ++h) {
        rotate(r, h * s_.head_dim, static_cast<std::int32_t>(p));
      }
      for (auto i = static_cast<std::size_t>(s_.q_width()); i < r.size(); ++i) r[i] = rounded(r[i]);
      rows.push_back(r);
    }
    for (std::size_t p = 0; p < x.size(); ++p) {
      add(x[p], o.times(attend(rows, p)));
      const Vector both = gate_up.times(norm(2 * layer + 1, x[p]));
      Vector mlp;
      for (std::int32_t i = 0; i < s_.ffn; ++i) {
        const double gate = both[static_cast<std::size_t>(i)];
        mlp.push_back(gate / (1 + std::exp(-gate)) * both[static_cast<std::size_t>(i + s_.ffn)]);
      }
      add(x[p], down.times(mlp));
    }
  }

  Vector attend(const std::vector<Vector>& rows, std::size_t p) const {
    Vector out(static_cast<std::size_t>(s_.q_width()));
    for (std::int32_t h = 0; h < s_.heads; ++h) {
      const std::int32_t kv = h / (s_.heads / s_.kv_heads);
      const std::int32_t key = s_.q_width() + kv * s_.head_dim, value = key + s_.kv_width();
      Vector weights;
      double total = 0;
      for (std::size_t t = 0; t <= p; ++t) {
        double score = 0;
        for (std::int32_t i = 0; i < s_.head_dim; ++i) {
          score += rows[p][static_cast<std::size_t>(h * s_.head_dim + i)] *
                   rows[t][static_cast<std::size_t>(key + i)];
        }
        weights.push_back(std::exp(score / std::sqrt(static_cast<double>(s_.head_dim))));
        total += weights.back();
      }
      for (std::size_t t = 0; t <= p; ++t) {
        for (std::int32_t i = 0; i < s_.head_dim; ++i) {
          out[static_cast<std::size_t>(h * s_.head_dim + i)] +=
              weights[t] / total * rows[t][static_cast<std::size_t>(value + i)];
        }
      }
    }
    return out;
  }

  static void add(Vector& to, const Vector& what) {
    for (std::size_t i = 0; i < to.size(); ++i) to[i] += what[i];
  }

  LlamaShape s_;
  Vector norms_;
  std::vector<cpu::Bf16> embedding_;
};

TEST_CASE("the decoder is the architecture written out", "[unit][kernels]") {
  const LlamaShape shape = llama_shape(tiny_model(), 128);
  const std::vector<std::int32_t> text{3,   77, 127, 0, 3, 3,  50, 64, 9, 21,
                                       100, 1,  2,   4, 8, 16, 32, 63, 5};
  const Vector expected = WrittenOut(shape).logits(text);
  // A key that lies at the edge of two bf16 values may be rounded to either: that is all the
  // tolerance is for.
  constexpr double kTolerance = 5e-3;
  ReferenceDecoder reference(make_cpu_weights(shape, kSeed));
  CHECK(cpu::reference::relative_error(reference.logits_after(text), expected) < kTolerance);

  BackendOptions options;
  options.pages = 4;
  options.max_rows = 32;
  options.max_sampled = 4;
  const auto backend = make_cpu_backend(make_cpu_weights(shape, kSeed), options);
  StepInput step;
  step.sequences.push_back({0, static_cast<std::int32_t>(text.size()), 0, {3, 1}});
  for (std::int32_t p = 0; p < std::ssize(text); ++p) {
    step.tokens.push_back(text[static_cast<std::size_t>(p)]);
    step.positions.push_back(p);
    step.slots.push_back((p < 16 ? 48 : 16 - 16) + p);
  }
  step.sampled_rows = {static_cast<std::int32_t>(text.size()) - 1};
  const auto tokens = decode_step(*backend, step);
  CHECK(cpu::reference::relative_error(backend->logits(), expected) < kTolerance);
  const auto best = std::max_element(expected.begin(), expected.end()) - expected.begin();
  CHECK(tokens.front() == best);
}

TEST_CASE("models that the engine cannot run are refused with the reason", "[unit][kernels]") {
  const auto refused = [](const char* what, auto change) {
    ModelSpec m = tiny_model();
    change(m);
    INFO(what);
    CHECK_THROWS_AS(llama_shape(m, 64), InputError);
  };
  refused("experts", [](ModelSpec& m) { m.layers[0].mlp.kind = MlpKind::kMoe; });
  refused("biases", [](ModelSpec& m) { for (LayerSpec& l : m.layers) l.mixer.qkv_bias = true; });
  refused("tied", [](ModelSpec& m) { m.tie_word_embeddings = true; });
  refused("widths", [](ModelSpec& m) { m.hidden_size = 72; });
  refused("heads", [](ModelSpec& m) { for (LayerSpec& l : m.layers) l.mixer.kv_heads = 3; });
}

}  // namespace
}  // namespace headway::kernels
