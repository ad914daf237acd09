#include "sim/model/gguf.h"

#include <cstdint>
#include <fstream>
#include <sstream>

#include "sim/model/gguf_reader.h"
#include "tests/support/temp_folder.h"
#include "tests/unit/model/config_text.h"

namespace headway {
namespace {

// Writes the head of a GGUF file, value by value.
class GgufText {
 public:
  GgufText& number(const std::string& key, std::uint32_t value) {
    head(key, 4);
    raw(value);
    return *this;
  }
  GgufText& wide(const std::string& key, std::uint64_t value) {
    head(key, 10);
    raw(value);
    return *this;
  }
  GgufText& text(const std::string& key, const std::string& value) {
    head(key, 8);
    put(value);
    return *this;
  }
  GgufText& real(const std::string& key, float value) {
    head(key, 6);
    raw(value);
    return *this;
  }
  GgufText& numbers(const std::string& key, const std::vector<std::int32_t>& list) {
    head(key, 9);
    raw(std::uint32_t{5});
    raw(std::uint64_t{list.size()});
    for (const std::int32_t entry : list) raw(entry);
    return *this;
  }
  GgufText& texts(const std::string& key, const std::vector<std::string>& list) {
    head(key, 9);
    raw(std::uint32_t{8});
    raw(std::uint64_t{list.size()});
    for (const std::string& entry : list) put(entry);
    return *this;
  }
  GgufText& tensor(const std::string& name, const std::vector<std::uint64_t>& shape) {
    std::string& to = tensors_;
    append(to, std::uint64_t{name.size()});
    to += name;
    append(to, static_cast<std::uint32_t>(shape.size()));
    for (const std::uint64_t side : shape) append(to, side);
    append(to, std::uint32_t{0});
    append(to, std::uint64_t{0});
    ++tensor_count_;
    return *this;
  }
  std::string file(std::uint32_t version = 3) const {
    std::string out = "GGUF";
    append(out, version);
    append(out, tensor_count_);
    append(out, value_count_);
    return out + values_ + tensors_;
  }

 private:
  template <typename T>
  static void append(std::string& to, T value) {
    to.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  template <typename T>
  void raw(T value) {
    append(values_, value);
  }
  void put(const std::string& value) {
    raw(std::uint64_t{value.size()});
    values_ += value;
  }
  void head(const std::string& key, std::uint32_t type) {
    put(key);
    raw(type);
    ++value_count_;
  }

  std::string values_, tensors_;
  std::uint64_t value_count_ = 0, tensor_count_ = 0;
};

GgufText llama_head(const std::string& arch = "llama") {
  GgufText g;
  g.text("general.architecture", arch).text("general.name", "Tiny");
  g.number(arch + ".block_count", 2).number(arch + ".embedding_length", 64);
  g.number(arch + ".feed_forward_length", 128).number(arch + ".context_length", 512);
  g.number(arch + ".attention.head_count", 8).number(arch + ".attention.head_count_kv", 4);
  g.real(arch + ".rope.freq_base", 10000.0F).texts("tokenizer.ggml.tokens", {"a", "b", "cd"});
  return g;
}

ModelSpec read(const std::string& bytes) {
  const test::TempFolder folder;
  const std::string path = folder.path() + "/m.gguf";
  std::ofstream(path, std::ios::binary) << bytes;
  return load_model("m.gguf", folder.path());
}

InputError::Parts refused(const std::string& bytes) {
  try {
    read(bytes);
  } catch (const InputError& e) {
    return e.parts();
  }
  FAIL("accepted");
  return {};
}

TEST_CASE("GGUF: a Llama as llama.cpp describes it", "[unit]") {
  GgufText g = llama_head();
  g.tensor("token_embd.weight", {64, 1000}).tensor("output.weight", {64, 1000});
  const ModelSpec model = read(g.file());
  CHECK(model.name == "Tiny");
  CHECK(model.num_hidden_layers() == 2);
  CHECK(model.vocab_size == 1000);
  CHECK_FALSE(model.tie_word_embeddings);
  CHECK(model.layers[0].mixer.kv_heads == 4);
  CHECK(model.layers[0].mixer.head_dim == 8);
  CHECK(parameter_count(model) ==
        parameter_count(small_model("llama", R"(, "num_hidden_layers": 2)")));
  CHECK(with_overrides(model, "num_key_value_heads", "2").layers[0].mixer.kv_heads == 2);
  CHECK(read(g.file(2)).layers == model.layers);
}

TEST_CASE("GGUF: what only the tensors tell", "[unit]") {
  GgufText tied = llama_head();
  tied.tensor("token_embd.weight", {64, 1000}).tensor("blk.0.attn_q.bias", {64});
  CHECK(read(tied.file()).tie_word_embeddings);
  CHECK(read(tied.file()).layers[0].mixer.qkv_bias);
  CHECK_FALSE(read(tied.file()).layers[0].mixer.output_bias);
  // Without tensors the tokens are counted.
  CHECK(read(llama_head().file()).vocab_size == 3);
}

TEST_CASE("GGUF: heads of a size of their own, experts, a quantised file", "[unit]") {
  GgufText g = llama_head("qwen3moe");
  g.number("qwen3moe.attention.key_length", 32).number("qwen3moe.expert_count", 16);
  g.number("qwen3moe.expert_used_count", 4).number("qwen3moe.expert_feed_forward_length", 24);
  g.number("general.file_type", 15);
  const ModelSpec model = read(g.file());
  CHECK(model.layers[0].mixer.head_dim == 32);
  CHECK(model.layers[0].mixer.qk_norm);
  CHECK(model.layers[0].mlp.experts == 16);
  CHECK(model.layers[0].mlp.expert_intermediate == 24);
  CHECK(model.checkpoint_format == "gguf");
}

TEST_CASE("GGUF: latent attention in both of its forms", "[unit]") {
  const auto deepseek = [](bool absorbed) {
    GgufText g = llama_head("deepseek2");
    g.number("deepseek2.attention.q_lora_rank", 48).number("deepseek2.attention.kv_lora_rank", 32);
    g.number("deepseek2.rope.dimension_count", 4).number("deepseek2.expert_count", 8);
    g.number("deepseek2.expert_used_count", 2).number("deepseek2.expert_shared_count", 1);
    g.number("deepseek2.expert_feed_forward_length", 24);
    g.number("deepseek2.leading_dense_block_count", 1);
    g.number("deepseek2.attention.key_length", absorbed ? 36 : 20);
    g.number("deepseek2.attention.value_length", absorbed ? 32 : 12);
    if (absorbed) {
      g.number("deepseek2.attention.key_length_mla", 20);
      g.number("deepseek2.attention.value_length_mla", 12);
    }
    g.tensor("token_embd.weight", {64, 1000}).tensor("blk.1.exp_probs_b.bias", {8});
    return read(g.file());
  };
  const ModelSpec model = deepseek(true);
  CHECK(model.layers == deepseek(false).layers);
  CHECK(model.layers[0].mixer.head_dim == 20);
  CHECK(model.layers[0].mixer.v_head_dim == 12);
  CHECK(model.layers[0].mlp.kind == MlpKind::kDense);
  CHECK(model.layers[1].mlp.shared_intermediate == 24);
  CHECK(model.layers[1].mlp.router_bias);
}

TEST_CASE("GGUF: Mamba-2", "[unit]") {
  GgufText g;
  g.text("general.architecture", "mamba2").number("mamba2.block_count", 3);
  g.number("mamba2.embedding_length", 64).number("mamba2.context_length", 1048576);
  g.number("mamba2.feed_forward_length", 0).number("mamba2.attention.head_count", 0);
  g.number("mamba2.ssm.inner_size", 128).number("mamba2.ssm.state_size", 16);
  g.number("mamba2.ssm.conv_kernel", 4).number("mamba2.ssm.time_step_rank", 16);
  g.number("mamba2.ssm.group_count", 1).number("mamba2.vocab_size", 1000);
  const ModelSpec model = read(g.file());
  CHECK(model.layers[0].mixer.kind == MixerKind::kMamba2);
  CHECK(model.layers[0].mixer.state.heads == 16);
  CHECK(model.layers[0].mixer.state.value_dim == 8);
  CHECK(model.vocab_size == 1000);
}

TEST_CASE("GGUF: a figure a layer is read when it is always the same", "[unit]") {
  GgufText same = llama_head("gemma3");
  same.numbers("gemma3.feed_forward_length", {96, 96});
  CHECK(read(same.file()).layers[0].mlp.intermediate == 128);  // the number, where both are there
  GgufText g;
  g.text("general.architecture", "llama").number("llama.block_count", 2);
  g.number("llama.embedding_length", 64).number("llama.context_length", 512);
  g.number("llama.attention.head_count", 8).number("llama.vocab_size", 10);
  GgufText mixed = g;
  g.numbers("llama.feed_forward_length", {96, 96});
  CHECK(read(g.file()).layers[0].mlp.intermediate == 96);
  mixed.numbers("llama.feed_forward_length", {96, 48});
  CHECK(refused(mixed.file()).place == "llama.feed_forward_length");
}

TEST_CASE("GGUF: what is no model is refused by name", "[unit]") {
  CHECK_THAT(refused(llama_head("lama").file()).expected, ContainsSubstring("did you mean llama"));
  GgufText nameless;
  nameless.number("llama.block_count", 2);
  CHECK(refused(nameless.file()).place == "general.architecture");
  GgufText g;
  g.text("general.architecture", "llama").number("llama.embedding_length", 64);
  CHECK(refused(g.file()).place == "vocab_size");
  GgufText huge = llama_head();
  huge.wide("llama.vocab_size", ~std::uint64_t{0});
  huge.tensor("token_embd.weight", {64, ~std::uint64_t{0}});
  CHECK(refused(huge.file()).place == "vocab_size");
  CHECK(refused("GGML").found == "no \"GGUF\" at the start");
  CHECK(refused(llama_head().file(1)).found == "version 1");
  CHECK(refused(llama_head().file(0x03000000)).found == "version 50331648");  // the other end first
}

TEST_CASE("GGUF: cut anywhere, the file is refused where it ends", "[unit]") {
  GgufText g = llama_head();
  g.tensor("token_embd.weight", {64, 1000}).numbers("x", {1, 2, 3});
  const std::string whole = g.file();
  for (std::size_t length = 0; length < whole.size(); ++length) {
    std::istringstream stream(whole.substr(0, length));
    INFO(length);
    try {
      read_gguf_header(stream, "m.gguf");
      FAIL("accepted");
    } catch (const InputError& e) {
      CHECK(e.parts().place.starts_with("byte "));
    }
  }
}

TEST_CASE("GGUF: counts beyond the file ask for no memory", "[unit]") {
  const std::string whole = llama_head().file();
  const auto with_count = [&](std::size_t at, std::uint64_t count) {
    std::string bytes = whole;
    bytes.replace(at, 8, reinterpret_cast<const char*>(&count), 8);
    return bytes;
  };
  for (const std::uint64_t count :
       {~std::uint64_t{0}, std::uint64_t{1} << 60, std::uint64_t{1} << 40}) {
    for (const std::size_t at : {8u, 16u, 24u}) {  // tensors, values, the first key's length
      INFO(count << " at " << at);
      CHECK(refused(with_count(at, count)).place.starts_with("byte "));
    }
  }
  GgufText nested;
  nested.numbers("x", {});
  std::string bytes = nested.file();
  bytes[bytes.size() - 12] = 9;  // a list of lists
  CHECK(refused(bytes).found == "a list of lists");
}

// Any single byte may be wrong: a model or a refusal comes out, nothing else.
TEST_CASE("GGUF: a byte changed anywhere is a model or a refusal", "[unit]") {
  GgufText g = llama_head();
  g.tensor("token_embd.weight", {64, 1000});
  const std::string whole = g.file();
  std::size_t models = 0, refusals = 0;
  const test::TempFolder folder;
  const std::string path = folder.path() + "/m.gguf";
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string bytes = whole;
    bytes[at] = static_cast<char>(bytes[at] ^ 0x81);
    std::ofstream(path, std::ios::binary) << bytes;
    try {
      load_model(path, ".");
      ++models;
    } catch (const InputError&) {
      ++refusals;
    }
  }
  CHECK(models + refusals == whole.size());
  CHECK(refusals > whole.size() / 2);
}

}  // namespace
}  // namespace headway
