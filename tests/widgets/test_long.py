"""A trace of twelve layers: folded, opened on demand, and stepped through without a long task."""

import pytest
import torch
from torch import nn

import attnlib

LAYERS, EACH = 12, 25
THROTTLE = {"rate": 4}

# Another process may take the machine away in the middle of a step, which then looks long: a step
# counts as long when it is so again and again. Where even a loop of 8 ms, 32 on the slowed CPU, is
# mostly long, the machine is too busy to tell.
LOOP = """() => {
  const spin = (n) => {
    const start = performance.now();
    for (let k = 0, x = 1; k < n; k++) x = Math.sqrt(x + k);
    return performance.now() - start;
  };
  const least = Math.min(...Array.from({ length: 20 }, () => spin(1e5)));
  window.loop = () => spin((1e5 * 8) / least);
}"""
BUSY = """async () => {
  let long = 0;
  for (let n = 0; n < 20; n++) {
    await new Promise((done) => setTimeout(done));
    if (window.loop() > 50) long++;
  }
  return long / 20;
}"""
STEP_THROUGH = """async (steps) => {
  const host = document.querySelector('.attn-host').shadowRoot;
  const stage = host.querySelector('.stage');
  const press = (key) => stage.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
  const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  const observer = new PerformanceObserver(() => {});
  observer.observe({ type: 'longtask' });
  const longest = async (key) => {
    await frame();
    observer.takeRecords();
    press(key);
    await frame();
    await frame();
    return Math.max(0, ...observer.takeRecords().map((entry) => entry.duration));
  };
  const long = [];
  let again = 0;
  const until = performance.now() + 90000;
  for (let n = 1; n <= steps && performance.now() < until; n++) {
    let least = await longest('PageDown');
    for (let k = 0; k < 6 && least > 50; k++) {
      again++;
      await longest('PageUp');
      least = Math.min(least, await longest('PageDown'));
    }
    if (least > 50) long.push([n, least]);
  }
  return { long, again, at: host.querySelector('.headline .kind').textContent };
}"""


class Block(nn.Module):
    def __init__(self, n_embd, n_heads):
        super().__init__()
        self.before, self.between = nn.LayerNorm(n_embd), nn.LayerNorm(n_embd)
        self.attn = attnlib.MultiHeadAttention(n_embd, n_heads, causal=True, fused=False)
        self.up, self.down = nn.Linear(n_embd, 4 * n_embd), nn.Linear(4 * n_embd, n_embd)

    def forward(self, x):
        x = x + self.attn(self.before(x))
        hidden = torch.relu(self.up(self.between(x)))
        return torch.tanh(torch.tanh(torch.tanh(x + self.down(hidden))))


class Stack(nn.Module):
    def __init__(self, layers, n_embd=6, n_heads=2):
        super().__init__()
        self.layers = nn.ModuleList(Block(n_embd, n_heads) for _ in range(layers))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


@pytest.fixture(scope="module")
def stack() -> dict:
    x = torch.arange(36.0).view(2, 3, 6) / 10
    return attnlib.trace(Stack(LAYERS), x, dims="batch S n_embd").to_dict()


def test_equal_layers_are_one_fold_and_open_on_demand(play, stack):
    page = play(stack)
    assert len(stack["steps"]) == 1 + LAYERS * EACH
    items = page.locator(".steps li")
    assert items.count() == 1 + EACH + 1, "the input, the first layer, a fold for the rest"
    fold = page.get_by_role("button", name="11 layers of 25 steps")
    assert fold.get_attribute("aria-expanded") == "false"
    page.locator(".stage").press("End")
    assert page.locator(".kind").text_content().startswith("steps 27–301 of 301 · phase 1 of 1")
    assert "run the same 25 steps again, 11 times" in page.locator(".caption").text_content()
    fold.press("Enter")
    assert items.count() == 1 + EACH + 1 + 11
    page.get_by_role("button", name="25 steps, layers.3", exact=True).click()
    assert items.count() == 1 + EACH + 1 + 11 + EACH
    fold.click()
    assert items.count() == 1 + EACH + 1


def test_layers_that_differ_are_not_folded(modules):
    class Mixed(nn.Module):
        def __init__(self):
            super().__init__()
            kinds = (nn.ReLU, nn.ReLU, nn.Tanh, nn.ReLU)
            self.layers = nn.ModuleList(
                nn.Sequential(nn.Linear(4, 4), kind(), nn.Linear(4, 4)) for kind in kinds
            )

        def forward(self, x):
            for layer in self.layers:
                x = layer(x)
            return x

    trace = attnlib.trace(Mixed(), torch.ones(3, 4), dims="S n_embd").to_dict()
    assert len(trace["steps"]) == 1 + 4 * 3
    found = modules.evaluate(
        "(json) => modules.rows.repeats(modules.trace.readTrace(json).steps)", trace
    )
    assert [(run["from"], run["length"], run["count"]) for run in found] == [(1, 3, 2)]


@pytest.mark.parametrize(
    ("order", "folds"),
    [((0, 1, 2, 3), [(1, 3, 4)]), ((0, 1, 1, 1), [(1, 3, 2)]), ((0, 2, 1, 3), [])],
)
def test_only_layers_that_count_on_are_folded(modules, order, folds):
    """One that is called twice, or out of turn, is a mistake that a fold would hide."""

    class Stack(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList(
                nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4)) for _ in order
            )

        def forward(self, x):
            for nth in order:
                x = self.layers[nth](x)
            return x

    trace = attnlib.trace(Stack(), torch.ones(3, 4), dims="S n_embd").to_dict()
    found = modules.evaluate(
        "(json) => modules.rows.repeats(modules.trace.readTrace(json).steps)", trace
    )
    assert [(run["from"], run["length"], run["count"]) for run in found] == folds


def test_a_link_into_a_fold_opens_it_and_no_more(play, stack):
    page = play(stack, place="#player-stack/101")
    assert page.locator(".kind").text_content().startswith("step 101 of 301")
    assert page.locator(".steps li").count() == 1 + EACH + 1 + 11 + EACH
    assert page.locator(".steps [aria-current] .nth").text_content() == "101"
    page.wait_for_timeout(200)  # the list follows with the next frame
    box, item = (
        page.locator(name).bounding_box() for name in (".steps", ".steps [aria-current=step]")
    )
    assert box["y"] <= item["y"] <= box["y"] + box["height"], "the list has scrolled to it"


def test_what_runs_inside_a_stage_opens_on_demand(play, stack):
    page = play(stack, place="#player-stack/14")
    before = page.locator(".steps li").count()
    inside = stack["steps"][13]["steps"]
    page.get_by_role("button", name=f"{len(inside)} operations inside, weights").first.click()
    assert page.locator(".steps li").count() == before + len(inside)
    page.locator(".stage").press("PageDown")
    assert page.locator(".kind").text_content().startswith("step 14.1 of 301")
    assert page.locator(".headline .line").text_content() == inside[0]["expression"]


@pytest.mark.timeout(300)
def test_three_hundred_steps_on_a_slow_machine_without_a_long_task(play, stack):
    page = play(stack)
    page.get_by_role("button", name="11 layers of 25 steps").click()
    for nth in range(1, LAYERS):
        page.get_by_role("button", name=f"25 steps, layers.{nth}", exact=True).click()
    page.locator(".stage").press("Home")
    page.evaluate(LOOP)
    page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", THROTTLE)
    if page.evaluate(BUSY) > 0.1:
        pytest.skip("this machine is too busy to tell")
    done = page.evaluate(STEP_THROUGH, 311)
    if page.evaluate(BUSY) > 0.1:
        pytest.skip("this machine is too busy to tell")
    assert done["long"] == []
    assert done["at"].startswith("step 300 of 301")
