// The line between before and after: dragged with a pointer, moved with keys.

const STEP = 2, BIG_STEP = 10;

export class Compare {
  constructor(stage, divider) {
    this.stage = stage;
    this.divider = divider;
    this.percent = 30;
    divider.addEventListener("pointerdown", (event) => this.#grab(event));
    divider.addEventListener("keydown", (event) => this.#key(event));
  }

  set(percent) {
    this.percent = Math.min(100, Math.max(0, percent));
    this.stage.style.setProperty("--split", `${this.percent}%`);
    this.divider.setAttribute("aria-valuenow", Math.round(this.percent));
    this.divider.setAttribute("aria-valuetext", `${Math.round(this.percent)} % camera`);
  }

  #grab(event) {
    this.divider.setPointerCapture(event.pointerId);
    const move = (at) => {
      const box = this.stage.getBoundingClientRect();
      this.set(((at.clientX - box.left) / box.width) * 100);
    };
    this.divider.addEventListener("pointermove", move);
    const end = () => this.divider.removeEventListener("pointermove", move);
    this.divider.addEventListener("pointerup", end, { once: true });
    this.divider.addEventListener("pointercancel", end, { once: true });
  }

  #key(event) {
    const moves = {
      ArrowLeft: -STEP, ArrowDown: -STEP, ArrowRight: STEP, ArrowUp: STEP,
      PageDown: -BIG_STEP, PageUp: BIG_STEP, Home: -100, End: 100,
    };
    if (!(event.key in moves)) return;
    event.preventDefault();
    this.set(this.percent + moves[event.key]);
  }
}
