// The same head with LibTorch: modules whose projections are registered, so that they have names,
// move with the module and are seen by an optimiser. Python calls the operators at the end.
#include <torch/library.h>
#include <torch/nn/modules/linear.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace {

using torch::Tensor;
using torch::nn::Linear;
using torch::nn::LinearOptions;
using State = c10::Dict<std::string, Tensor>;

// weight (out, in), as in Python
Linear linear(int64_t in, int64_t out, bool bias) {
  return Linear(LinearOptions(in, out).bias(bias));
}

// q (..., Sq, H), k (..., Sk, H), v (..., Sk, H) -> (..., Sq, H)
Tensor attend(const Tensor& q, const Tensor& k, const Tensor& v, bool causal) {
  const auto Sq = q.size(-2), Sk = k.size(-2);
  auto scores = torch::matmul(q, k.transpose(-2, -1));           // (..., Sq, Sk)
  scores = scores / std::sqrt(static_cast<double>(q.size(-1)));  // (..., Sq, Sk)
  if (causal) {
    const auto may_attend =
        torch::ones({Sq, Sk}, scores.options().dtype(torch::kBool)).tril(Sk - Sq);  // (Sq, Sk)
    scores = scores.masked_fill(~may_attend, -std::numeric_limits<double>::infinity());
  }
  return torch::matmul(torch::softmax(scores, -1), v);  // (..., Sq, H)
}

struct SelfAttentionImpl : torch::nn::Module {
  SelfAttentionImpl(int64_t n_embd, int64_t head_size, bool bias)
      : query(register_module("query", linear(n_embd, head_size, bias))),
        key(register_module("key", linear(n_embd, head_size, bias))),
        value(register_module("value", linear(n_embd, head_size, bias))) {}

  // x (..., S, n_embd) -> (..., S, H)
  Tensor forward(const Tensor& x) {
    return attend(query->forward(x), key->forward(x), value->forward(x), false);
  }

  Linear query, key, value;
};
TORCH_MODULE(SelfAttention);

struct SingleHeadAttentionImpl : SelfAttentionImpl {
  using SelfAttentionImpl::SelfAttentionImpl;

  // The same, but token i sees the tokens 0 to i only.
  Tensor forward(const Tensor& x) {
    return attend(query->forward(x), key->forward(x), value->forward(x), true);
  }
};
TORCH_MODULE(SingleHeadAttention);

struct MultiHeadAttentionImpl : torch::nn::Module {
  MultiHeadAttentionImpl(int64_t n_embd, int64_t n_heads, int64_t head_size, bool bias)
      : n_heads(n_heads),
        query(register_module("query", linear(n_embd, n_heads * head_size, bias))),
        key(register_module("key", linear(n_embd, n_heads * head_size, bias))),
        value(register_module("value", linear(n_embd, n_heads * head_size, bias))),
        out(register_module("out", linear(n_heads * head_size, n_embd, bias))) {}

  // x (..., S, n_embd) -> (..., S, n_embd)
  Tensor forward(const Tensor& x, bool causal) {
    const auto q = split(query->forward(x));                  // (..., heads, S, H)
    const auto k = split(key->forward(x));                    // (..., heads, S, H)
    const auto v = split(value->forward(x));                  // (..., heads, S, H)
    const auto heads = attend(q, k, v, causal);               // (..., heads, S, H)
    const auto merged = heads.transpose(-3, -2).flatten(-2);  // (..., S, heads*H)
    return out->forward(merged);                              // (..., S, n_embd)
  }

  // x (..., S, heads*H) -> (..., heads, S, H)
  Tensor split(const Tensor& x) const {
    return x.unflatten(-1, {n_heads, x.size(-1) / n_heads}).transpose(-3, -2);
  }

  int64_t n_heads;
  Linear query, key, value, out;
};
TORCH_MODULE(MultiHeadAttention);

// Copy a Python module's state dict, name by name; a name that only one side has is an error.
template <typename Module>
Module loaded(Module module, const State& state) {
  const torch::NoGradGuard no_grad;
  const auto like = state.at("query.weight");
  module->to(like.device(), like.scalar_type());
  const auto parameters = module->named_parameters();
  TORCH_CHECK(parameters.size() == state.size(), "the state dict has ", state.size(),
              " entries, the module ", parameters.size());
  for (const auto& parameter : parameters) {
    TORCH_CHECK(state.contains(parameter.key()), "the state dict lacks ", parameter.key());
    parameter.value().copy_(state.at(parameter.key()));
  }
  return module;
}

Tensor head(const Tensor& x, const State& state, bool causal) {
  const auto weight = state.at("query.weight");  // (H, n_embd)
  const auto bias = state.contains("query.bias");
  if (causal) {
    return loaded(SingleHeadAttention(weight.size(1), weight.size(0), bias), state)->forward(x);
  }
  return loaded(SelfAttention(weight.size(1), weight.size(0), bias), state)->forward(x);
}

Tensor multi_head(const Tensor& x, const State& state, int64_t n_heads, bool causal) {
  const auto weight = state.at("query.weight");  // (heads*H, n_embd)
  const auto bias = state.contains("query.bias");
  const auto head_size = weight.size(0) / n_heads;
  auto module = loaded(MultiHeadAttention(weight.size(1), n_heads, head_size, bias), state);
  return module->forward(x, causal);
}

// The names under which a module's parameters are registered.
std::vector<std::string> registered(int64_t n_embd, int64_t n_heads, int64_t head_size) {
  return MultiHeadAttention(n_embd, n_heads, head_size, true)->named_parameters().keys();
}

}  // namespace

TORCH_LIBRARY(attention_in_cpp, library) {
  library.def("head(Tensor x, Dict(str, Tensor) state, bool causal) -> Tensor", &head);
  library.def("multi_head(Tensor x, Dict(str, Tensor) state, int n_heads, bool causal) -> Tensor",
              &multi_head);
  library.def("registered(int n_embd, int n_heads, int head_size) -> str[]", &registered);
}
