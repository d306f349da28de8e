"""``Trace.check``: what is compared, what is said of the rest, and that nothing is touched."""

import functools
import pickle
import warnings

import pytest
import torch
from torch import nn

from attnlib import MultiHeadAttention, trace

X = torch.ones(2, 4)


class Trainer:
    def __init__(self):
        self.model, self.steps = nn.Linear(4, 4), 0

    def fit(self, x):
        self.steps += 1
        return self.model(x)


def test_a_training_step_is_checked_and_the_model_stays_as_it_is():
    model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    losses = []

    def step(x):
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item() if x.device.type == "cpu" else None)
        return loss.detach()

    result = trace(step, torch.randn(3, 4), dims="batch n_embd")
    before = [value.clone() for value in model.state_dict().values()]
    gradients = [parameter.grad.clone() for parameter in model.parameters()]
    moments = [state["exp_avg"].clone() for state in optimizer.state.values()]
    check = result.check(batch=5)
    assert check and check.skipped > 0 and "not compared" in str(check), check
    assert all(map(torch.equal, before, model.state_dict().values()))
    assert all(map(torch.equal, gradients, [p.grad for p in model.parameters()]))
    assert all(map(torch.equal, moments, [s["exp_avg"] for s in optimizer.state.values()]))
    assert len(losses) == 1 and scheduler.last_epoch == 0
    assert {int(state["step"]) for state in optimizer.state.values()} == {1}


def decorated(model):
    @torch.no_grad()
    def run(x):
        return model(x)

    return run


def test_a_method_of_a_plain_object_is_run_on_a_copy():
    trainer = Trainer()
    assert trace(trainer.fit, X, dims="batch c").check(batch=5) and trainer.steps == 1


WAYS = {
    "decorator": decorated(nn.Linear(4, 4)),
    "partial": functools.partial(decorated(nn.Linear(4, 4))),
    "default": lambda x, model=nn.Linear(4, 4): model(x),  # noqa: B008
    "compiled": torch.compile(nn.Linear(4, 4), backend="eager"),
}


@pytest.mark.parametrize("name", WAYS)
def test_the_module_is_found_wherever_the_code_keeps_it(name):
    assert trace(WAYS[name], X, dims="batch c").check(batch=5)


@functools.lru_cache(maxsize=8)
def triangle(S):
    return torch.ones(S, S).tril()


def test_a_cached_function_fills_a_cache_of_its_own():
    """Else the reader's next call would be given what was made without numbers."""

    def masked(x):
        scores = x @ x.mT + torch.zeros(len(x), len(x))  # not on the device of the inputs
        return scores * triangle(len(x))

    triangle.cache_clear()
    assert trace(masked, X, dims="S H").check(S=9)
    assert triangle.cache_info().currsize == 1 and triangle.cache_info().maxsize == 8
    assert triangle(9).device.type == "cpu"


class Shared(nn.Module):
    masks: dict = {}  # noqa: RUF012 - as readers write it
    lengths: list = []  # noqa: RUF012

    def forward(self, x):
        Shared.lengths.append(len(x))
        if len(x) not in self.masks:
            self.masks[len(x)] = torch.ones(len(x), len(x), device=x.device)
        return self.masks[len(x)] @ x


@pytest.mark.parametrize("fn", [Shared(), lambda x: Shared()(x)], ids=["module", "function"])
def test_what_a_class_keeps_for_all_of_its_instances_is_put_back(fn):
    Shared.masks.clear()
    Shared.lengths.clear()
    assert trace(fn, X, dims="S H").check(S=9)
    assert list(Shared.masks) == [2] and Shared.masks[2].device.type == "cpu"
    assert Shared.lengths == [2]


def test_what_cannot_be_copied_is_not_touched():
    numbers = (n for n in range(9))

    def run(x):
        return x * next(numbers)

    check = trace(run, X, dims="batch c").check(batch=5)
    assert check.unchecked and "cannot be copied" in check.reason and next(numbers) == 1


def test_the_dims_that_moved_are_named_and_the_numbers_that_moved_too():
    def run(x):
        table = torch.arange(x.shape[0] * x.shape[1], device=x.device).view(*x.shape)
        return (table + x).flatten().cumsum(0)[1:]

    result = trace(run, torch.ones(2, 5), dims="batch S")
    check = result.check(batch=3, S=7)
    assert check and check.dims == ("batch", "S", "batch*S")
    (odd,) = check.numbers
    assert odd.dims == ("9",) and odd.found == (20,)
    assert "has a number that became (20,)" in str(check)
    assert result.check(S=5).dims == () and result.check(S=5).numbers == ()


def over_the_queries(q, k):
    return (q @ k.mT).softmax(1) @ k


def over_the_queries_and_not_kept(q, k):
    scores = q @ k.mT
    scores.masked_fill(scores > 1, 0.0)
    return scores.softmax(1) @ k


STANDING = {
    over_the_queries: ", but 1 warning of the trace stands",
    over_the_queries_and_not_kept: ", but 2 warnings of the trace stand",
}


@pytest.mark.parametrize("program", STANDING, ids=lambda f: f.__name__)
def test_dims_that_hold_are_no_all_clear_where_warnings_stand(program):
    q, k = torch.randn(2, 2, 5, 4)
    result = trace(program, q, k, dims={"q": "batch S H", "k": "batch S H"})
    check = result.check(batch=3, S=7)
    said = f"checked at batch = 3, S = 7: every row's dims hold{STANDING[program]}"
    assert check and str(check).splitlines()[0] == said
    assert said in " ".join(str(result).split())


def test_warnings_stand_where_nothing_could_be_checked_too():
    q, k = torch.randn(2, 2, 5, 4)
    result = trace(over_the_queries, q, k, dims={"q": "batch S H", "k": "batch S H"})
    result.release()
    assert str(result.check(S=7)).endswith("loose code); 1 warning of the trace stands")
    result = trace(lambda q: q @ q.mT, q, dims="batch S H")
    assert str(result.check(S=7)).splitlines()[0].endswith("every row's dims hold")


def test_inputs_keep_what_gradients_need():
    def run(x):
        y = (x * 2).sum()
        y.backward()
        return y

    x = torch.ones(2, 4, requires_grad=True)
    result = trace(run, x, dims="batch c")
    assert result.check(batch=7), result.check(batch=7)
    assert x.grad.tolist() == [[2.0] * 4] * 2


def causal(x):
    past = torch.ones(x.shape[1], x.shape[1]).tril()
    return (x @ x.mT).masked_fill(past == 0, -torch.inf).softmax(-1)


def test_a_cache_that_is_a_result_is_looked_at_without_a_warning():
    """A buffer that was written into is no leaf: torch warns of whoever asks for its gradient."""

    class Cached(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(6, 6)
            self.register_buffer("keys", torch.zeros(3, 9, 6))

        def forward(self, x):
            self.keys[:, : x.shape[1]] = self.linear(x)
            return self.keys[:, : x.shape[1]]

    recorded = trace(Cached(), torch.randn(3, 5, 6), dims="batch S H")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert recorded.check(S=7)


def test_a_table_made_without_a_device_is_made_where_the_inputs_are():
    check = trace(causal, torch.randn(2, 5, 4), dims="batch S c").check(batch=3, S=7)
    assert check and check.dims == ("batch", "S"), check
    assert trace(lambda x: x + torch.ones(4), X, dims="batch c").check(batch=5)


def test_numbers_of_such_a_table_may_still_be_asked_for():
    def rows(x):
        return torch.stack([x[place] for place in torch.arange(2).tolist()])

    assert trace(rows, X, dims="batch c").check(c=6)


def test_a_trace_that_was_saved_and_loaded_is_still_checked():
    result = trace(MultiHeadAttention(12, 3), torch.randn(2, 5, 12), dims="batch S n_embd")
    check = pickle.loads(pickle.dumps(result)).check(batch=3, S=7)
    assert check and set(check.dims) == {"batch", "S"}, check


def test_keywords_may_come_in_any_order():
    def scores(q, k):
        return q @ k.mT

    q, k = torch.randn(2, 5, 4), torch.randn(2, 7, 4)
    result = trace(scores, k=k, q=q, dims={"q": "batch Sq H", "k": "batch Sk H"})
    check = result.check(Sq=11, Sk=3)
    assert check and check.dims == ("Sq", "Sk"), check


def test_tensors_in_lists_of_tuples_are_inputs_and_are_given_again():
    def attend(x, cache):
        for k, v in cache:
            x = x + (x @ k.mT) @ v
        return x

    cache = [(torch.randn(2, 7, 4), torch.randn(2, 7, 4)) for _ in range(2)]
    given = {f"cache[{layer}][{part}]": "batch Sk H" for layer in (0, 1) for part in (0, 1)}
    result = trace(attend, torch.randn(2, 5, 4), cache, dims={"x": "batch S H", **given})
    assert [step.variable for step in result.steps if step.kind == "input"] == ["x", *given]
    check = result.check(batch=3, S=6, Sk=11)
    assert check and set(check.dims) == {"batch", "S", "Sk"}, check


def test_what_cannot_be_run_again_says_at_which_sizes():
    result = trace(lambda x: x * 2, X, dims="S H")
    result.release()
    check = result.check(S=11)
    assert not check and str(check).startswith("not checked at S = 11: the function is gone")


def test_a_device_that_the_code_names_is_still_a_fault():
    def fixed(x):
        return x + torch.ones(4, device="cpu")

    check = trace(fixed, X, dims="batch c").check(batch=5)
    assert check.unchecked and "cpu" in check.reason and "meta" in check.reason


def test_a_dim_that_grows_in_a_loop_is_compared_where_it_comes_up():
    def longer(ids):
        for _ in range(2):
            T = ids.shape[1]
            scores = ids.new_zeros(T, T)
            ids = torch.cat((ids, scores.sum(0)[None, :1].expand(ids.shape[0], 1)), dim=1)
        return ids

    check = trace(longer, torch.ones(2, 5), dims="B T").check(B=3, T=8)
    assert check and check.dims == ("B", "T"), check


def test_a_dim_that_stands_in_products_only_keeps_its_size():
    class Folded(nn.Module):
        def __init__(self, n_embd, heads):
            super().__init__()
            self.n_embd, self.heads = n_embd, heads

        def forward(self, x):
            T, B, E = x.shape
            return x.view(T, B * self.heads, E // self.heads).transpose(0, 1)

    result = trace(Folded(12, 3), torch.randn(5, 2, 12), dims="S batch n_embd")
    assert result.sizes["heads"] == 3 and "batch*heads" in result.steps[-1].output.dims
    assert result.check(S=10, batch=5), result.check(S=10, batch=5)


class Fixed(nn.Module):
    def __init__(self, n_embd, n_head, hd):
        super().__init__()
        self.n_head, self.hd = n_head, hd
        self.q = nn.Linear(n_embd, n_head * hd)

    def forward(self, x):
        return self.q(x).view(*x.shape[:2], self.n_head, self.hd)


def test_a_size_that_no_input_has_cannot_be_another():
    result = trace(Fixed(16, 4, 5), torch.randn(2, 7, 16), dims="batch S n_embd")
    check = result.check(hd=10, S=9)
    assert check.unchecked and check.mismatches == ()
    assert check.reason == "no input has hd: the code or its weights fix that size"
    assert result.check(hd=5, S=9)  # as it is
