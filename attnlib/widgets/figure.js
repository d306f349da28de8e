/* The figure: the drawing at the width it has, the room it takes, the cell that is pointed at. */

import { range } from './kit.js';
import { neighbour } from './moves.js';
import { rowOf, sceneOf } from './phases.js';

const ALL = 80; // in a trace of up to so many phases the figure is as high as the highest of them,
const TALL = 560; // but for one that is higher than this the others do not wait
const AIR = 40; // a low scene stands so near to its sentence; what room is left, is below

export class Figure {
  constructor(part, trace) {
    Object.assign(this, { part, trace, width: 0, scene: null, cursor: null, rooms: new Map() });
  }

  /** Ask for the width once it may have changed: asking at every step would cost a layout. Says whether it has. */
  measure() {
    const before = this.width;
    this.width = Math.floor(this.part.stage.clientWidth);
    return this.width !== before;
  }

  draw(plan, state) {
    const { width, part } = this;
    if (width < 40) return;
    this.scene = sceneOf(this.trace, plan, state, width);
    part.drawing.patch(this.scene);
    part.drawing.point(this.cursor);
    this.settle(plan, state);
  }

  /** The stage is as high as its highest scene, so that the controls under it stay where they are, and the scenes of a
   * step stand together near its top. A phone's controls stick to the edge: there it is as high as its step needs. */
  settle(plan, state) {
    const { width, part } = this;
    const [right, height] = this.room(plan, state, state.step);
    const few = plan.reduce((n, phases) => n + phases.length, 0) <= ALL;
    const heights = few ? range(plan.length).map((step) => this.room(plan, state, step)[1]) : [height];
    const { narrow } = this.scene;
    const tall = narrow ? height : Math.max(height, Math.min(TALL, Math.max(...heights)));
    part.stage.style.minHeight = `${tall}px`;
    part.drawing.root.style.translate = narrow
      ? ''
      : `${Math.max(0, (width - right - 20) >> 1)}px ${Math.min(AIR, (tall - height) >> 1)}px`;
  }

  /** How far right and how deep the scenes of a step reach, at this width. */
  room(plan, state, step) {
    const key = plan[step];
    const known = this.rooms.get(key);
    if (known && known.width === this.width) return known.room;
    const scenes = range(key.length).map((phase) => sceneOf(this.trace, plan, { ...state, step, phase }, this.width));
    const room = ['right', 'height'].map((side) => Math.max(...scenes.map((scene) => scene[side])));
    this.rooms.set(key, { width: this.width, room });
    return room;
  }

  point(mark) {
    this.cursor = mark;
    this.part.drawing.point(mark);
  }

  /** Enter puts a cursor on the cells, arrows move it, Escape takes it away. Says whether the key was used, and which
   * cell is to be picked. */
  walk(key, phase, state) {
    const cells = this.scene ? this.scene.marks.filter((mark) => mark.type === 'cell' && mark.ref) : [];
    if (!cells.length || (key !== 'Enter' && !this.cursor)) return { used: false };
    if (key === 'Enter' && this.cursor) return { used: true, pick: this.cursor };
    if (key === 'Enter') {
      const [i, j] = [rowOf(phase, state), state.j];
      const here = cells.find(({ ref }) => ref.pick && ref.pick.i === i && ref.pick.j === j);
      this.point(here || cells[0]);
    } else if (key === 'Escape') this.point(null);
    else if (key.startsWith('Arrow')) this.point(cells[neighbour(cells, this.cursor, key)] || this.cursor);
    else return { used: false };
    return { used: true };
  }
}
