"""A reader's hands: the same things done to a widget by mouse, by finger and by keyboard."""

from __future__ import annotations

from playwright.sync_api import Locator, Page

PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
FRAMES = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
TOGGLED = """summary => new Promise((done) => {
  summary.parentNode.addEventListener('toggle', () => done(), { once: true });
  summary.click();
})"""
# Where no bar that sticks to an edge lies over it.
MIDDLE = "node => node.scrollIntoView({ block: 'center' })"
DESK = {"viewport": {"width": 1280, "height": 900}}


def open_tables(page: Page) -> None:
    """Open the numbers as tables: made when the fold says that it is open, some time after."""
    page.locator("summary", has_text="tables").evaluate(TOGGLED)
    page.locator("details .scroll > *").first.wait_for()


class Mouse:
    """Presses and drags with the left button."""

    context = DESK

    def __init__(self, page: Page):
        self.page = page

    def press(self, target: Locator) -> None:
        target.click()

    def set(self, slider: Locator, to: int) -> None:
        """Drag the thumb from where it is to another value."""
        slider.evaluate(MIDDLE)
        start, end = thumb(slider), thumb(slider, to)
        self.page.mouse.move(*start)
        self.page.mouse.down()
        self.page.mouse.move(*end, steps=4)
        self.page.mouse.up()

    def check(self, radio: Locator) -> None:
        radio.click()


class Touch(Mouse):
    """Taps and drags with one finger, on a phone."""

    context = PHONE

    def press(self, target: Locator) -> None:
        target.tap()
        self.page.evaluate(FRAMES)  # a tap is told from a swipe a little later

    def set(self, slider: Locator, to: int) -> None:
        slider.evaluate(MIDDLE)
        self._draw(thumb(slider), thumb(slider, to))

    def check(self, radio: Locator) -> None:
        self.press(radio)

    def swipe(self, target: Locator, up: int) -> None:
        """Move the page as a finger does that starts on the target."""
        box = target.bounding_box()
        x, y = box["x"] + box["width"] / 2, box["y"] + min(box["height"] / 2, 300)
        self._draw((x, y), (x, y - up))

    def _draw(self, start: tuple[float, float], end: tuple[float, float], steps: int = 8) -> None:
        finger = self.page.context.new_cdp_session(self.page)
        tell = lambda kind, *points: finger.send(  # noqa: E731
            "Input.dispatchTouchEvent", {"type": kind, "touchPoints": list(points)}
        )
        for n in range(steps + 1):
            x, y = (a + (b - a) * n / steps for a, b in zip(start, end, strict=True))
            tell("touchMove" if n else "touchStart", {"x": x, "y": y})
            self.page.evaluate(FRAMES)
        tell("touchEnd")
        self.page.evaluate(FRAMES)
        finger.detach()


class Keyboard(Mouse):
    """Focuses and types; arrows move a slider and choose among radios."""

    def press(self, target: Locator) -> None:
        target.focus()
        self.page.keyboard.press("Enter")

    def set(self, slider: Locator, to: int) -> None:
        slider.focus()
        now = int(float(slider.input_value()))
        for _ in range(abs(to - now)):
            self.page.keyboard.press("ArrowRight" if to > now else "ArrowLeft")

    def check(self, radio: Locator) -> None:
        """Arrows go round a group from the one that is set; Space sets where none is."""
        radio.evaluate(
            "radio => (radio.getRootNode().querySelector("
            "`${radio.form ? 'form ' : ''}[name='${radio.name}']:checked`) ?? radio).focus()"
        )
        for _ in range(12):
            if radio.is_checked():
                return
            focused = radio.evaluate("radio => radio.getRootNode().activeElement === radio")
            self.page.keyboard.press("Space" if focused else "ArrowDown")


def thumb(slider: Locator, value: int | None = None) -> tuple[float, float]:
    """Say where on the screen a slider's thumb is, or would be at a value."""
    box = slider.bounding_box()
    low, high = (int(slider.get_attribute(end) or 0) for end in ("min", "max"))
    now = float(slider.input_value()) if value is None else value
    share = (now - low) / max(1, high - low)
    return box["x"] + 9 + share * (box["width"] - 18), box["y"] + box["height"] / 2


# ---------- what is done


def work_player(place: Locator, hands: Mouse) -> None:
    """Use every control of a player, and see each do what it says."""
    kind, caption = place.locator(".headline .kind"), place.locator(".caption")
    button = lambda name: place.get_by_role("button", name=name)  # noqa: E731
    at = lambda: kind.text_content()  # noqa: E731

    start = at()
    hands.press(button("Next"))
    assert at() != start
    hands.press(button("Back"))
    assert at() == start
    hands.press(button("Last"))
    assert not button("Next").is_enabled()
    end = at()
    hands.press(button("First"))
    assert at() == start
    hands.press(button("Play"))
    hands.press(button("Pause"))
    scrub = place.get_by_label("Position in the trace")
    most = int(scrub.get_attribute("max"))
    hands.set(scrub, most)
    assert at() == end
    middle = place.locator(".steps .go").nth(place.locator(".steps .go").count() // 2)
    hands.press(middle)
    assert middle.get_attribute("aria-current") == "step"
    assert middle.locator(".nth").text_content() in at()
    _pick(place, hands)
    assert caption.text_content().endswith((".", "?"))
    _tools(place, hands)


def _pick(place: Locator, hands: Mouse) -> None:
    """Choose a row where the trace has rows to choose: the number read is another one then."""
    button = place.get_by_role("button", name="Next")
    picks = place.locator(".picks select[data-pick=i]")
    hands.press(place.get_by_role("button", name="First"))
    while not picks.count() and button.is_enabled():
        hands.press(button)
    if not picks.count():
        return
    other = "1" if picks.input_value() == "0" else "0"
    before = place.locator(".stage svg").inner_html()
    if isinstance(hands, Keyboard):
        picks.focus()
        place.page.keyboard.press("ArrowDown" if other == "1" else "Home")
    else:  # the list itself is the system's
        picks.select_option(other)
    assert picks.input_value() == other
    assert place.locator(".stage svg").inner_html() != before
    cell = place.locator(".cell.pickable").first
    if isinstance(hands, Keyboard):
        place.locator(".stage").focus()
        place.page.keyboard.press("Enter")
        place.page.keyboard.press("ArrowUp")
        place.page.keyboard.press("Enter")
    else:
        hands.press(cell)
    assert " at " in (place.locator(".reading").text_content() or "")
    if isinstance(hands, Keyboard):
        place.page.keyboard.press("Escape")


def _tools(place: Locator, hands: Mouse) -> None:
    page = place.page
    hands.press(place.get_by_role("button", name="Predict shapes"))
    place.locator(".tools [aria-pressed=true]").wait_for()  # their code may still be on its way
    form = place.locator("form.ask")
    hands.press(place.get_by_role("button", name="First"))
    while not form.count():
        hands.press(place.get_by_role("button", name="Next"))
    for group in form.locator("fieldset").all():
        hands.check(group.locator("input").last)
        assert group.locator("input").last.is_checked()
    hands.press(form.get_by_role("button", name="Check"))
    if form.count():
        assert form.locator(".reply").text_content()
        hands.press(form.get_by_role("button", name="Show me"))
    form.wait_for(state="detached")
    hands.press(place.get_by_role("button", name="Predict shapes"))

    hands.press(place.get_by_text("The numbers of this step as tables"))
    place.locator("details .scroll table, details .scroll p").first.wait_for()
    hands.press(place.get_by_text("The same code at your sizes"))
    slider = place.locator(".sizes input:enabled").first
    before = place.locator(".sizes tbody").text_content()
    hands.set(slider, 3 if slider.input_value() != "3" else 4)
    assert place.locator(".sizes tbody").text_content() != before

    hands.press(place.get_by_role("button", name="Copy table"))
    place.get_by_text("The table is ").wait_for()
    with page.expect_download() as waiting:
        hands.press(place.get_by_role("button", name="Save SVG"))
    assert waiting.value.suggested_filename.endswith(".svg")
    hands.press(place.get_by_role("button", name="Present"))
    place.locator(".attn-host[data-present]").wait_for()
    page.keyboard.press("Escape")
    place.locator(".attn-host:not([data-present])").wait_for()


def work_lab(place: Locator, hands: Mouse) -> None:
    """Set every field of a lab, and see its picture, its sentence or its tables change."""
    look = lambda: place.locator(".lab").evaluate(LOOK)  # noqa: E731
    names = place.locator("[data-field]").evaluate_all(
        "all => [...new Set(all.map(node => node.dataset.field))]"
    )
    assert names
    for name in names:
        before = look()
        _set(place, hands, name)
        assert look() != before, name
    hands.press(place.get_by_role("button", name="Start again"))
    hands.press(place.get_by_text("The same in tables", exact=True))
    place.locator("details table").first.wait_for()
    pickable = place.locator(".cell.pickable")
    if pickable.count() and not isinstance(
        hands, Keyboard
    ):  # for the keyboard its fields are there
        seen = {look()}
        for cell in (pickable.first, pickable.last):  # one of them may be what is read already
            hands.press(cell)
            seen.add(look())
        assert len(seen) > 1


def _set(place: Locator, hands: Mouse, name: str) -> None:
    field = place.locator(f"[data-field='{name}']")
    kind = field.first.get_attribute("type")
    if not field.first.is_visible():
        hands.press(field.first.locator("xpath=ancestor::details/summary"))
    if kind == "range":
        most, now = int(field.get_attribute("max")), int(field.input_value())
        hands.set(field, most if now != most else 0)
    elif kind == "radio":
        hands.check(field.nth(field.evaluate_all("all => all.findIndex(radio => !radio.checked)")))
    elif kind == "number":
        hands.press(field.first)
        place.page.keyboard.press("ControlOrMeta+a")
        place.page.keyboard.type("3")
    else:
        hands.press(field.and_(place.locator(".down")).first if field.count() > 1 else field.first)


LOOK = """lab => lab.querySelector('.stage').innerHTML + lab.querySelector('.caption').textContent
  + JSON.stringify([...lab.querySelectorAll('input')].map(field => [field.value, field.checked]))"""
