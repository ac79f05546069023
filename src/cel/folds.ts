// Loops: what `all`, `map`, `cel.bind` and the other macros became.
import { accumulator, type Fold } from './ast.ts';
import { attribute } from './attributes.ts';
import type { Frame, Step } from './frame.ts';
import { GrowingList, GrowingMap } from './growing.ts';
import { attributePlan, type Plan, type Planning } from './plan.ts';
import { CelError, CelList, CelMap, runtimeType, type Value } from './value.ts';

const slotPlan = (slot: number): Plan => attributePlan(attribute((frame) => frame.slots[slot]!));

export function planFold(planning: Planning, expr: Fold): Plan {
  const [accu, first, second] = [planning.newSlot(), planning.newSlot(), planning.newSlot()];
  const range = planning.plan(expr.range).step;
  const initial = startOf(planning.plan(expr.init).step, expr.accuVar === accumulator);
  // Evaluated when it is first asked for: a bound name that is not used costs nothing.
  const accumulated = attributePlan(
    attribute((frame) => {
      const before = frame.slots[accu];
      if (before !== undefined) return before;
      const value = initial(frame);
      frame.slots[accu] = value;
      return value;
    }),
  );
  const outer = new Map([[expr.accuVar, accumulated]]);
  const inner = new Map(outer).set(expr.iterVar, slotPlan(first));
  if (expr.iterVar2 !== undefined) inner.set(expr.iterVar2, slotPlan(second));
  const { condition, step } = planning.scoped(inner, () => ({
    condition: planning.plan(expr.condition).step,
    step: planning.plan(expr.step).step,
  }));
  const result = planning.scoped(outer, () => planning.plan(expr.result)).step;
  /** False ends the loop. */
  const round = (frame: Frame): boolean => {
    frame.nextRound();
    if (condition(frame) === false) return false;
    frame.slots[accu] = step(frame);
    return true;
  };
  const iterate = expr.iterVar2 === undefined ? eachOf(first, round) : eachPairOf(first, second, round);
  return {
    step: (frame) => {
      const over = range(frame);
      if (over instanceof CelError) return over;
      frame.slots[accu] = undefined;
      const ended = iterate(frame, over);
      if (ended) return ended;
      const value = result(frame);
      return value instanceof GrowingList || value instanceof GrowingMap ? value.finished() : value;
    },
  };
}

/** A list or map that only the loop can see grows in place. */
const startOf =
  (init: Step, isOwn: boolean): Step =>
  (frame) => {
    const value = init(frame);
    if (!isOwn) return value;
    if (value instanceof CelList && value.size === 0) return new GrowingList();
    return value instanceof CelMap && value.size === 0 ? new GrowingMap() : value;
  };

/** Why the loop could not be run to its end; undefined when it could. */
type Iterate = (frame: Frame, over: Value) => CelError | undefined;

/** Upstream tells what can't be gone through by the name of its type in Go. */
const typesOfGo: Readonly<Record<string, string>> = {
  string: 'types.String',
  bytes: 'types.Bytes',
  int: 'types.Int',
  uint: 'types.Uint',
  double: 'types.Double',
  bool: 'types.Bool',
  null_type: 'types.Null',
  type: '*types.Type',
  optional_type: '*types.Optional',
  'google.protobuf.Timestamp': 'types.Timestamp',
  'google.protobuf.Duration': 'types.Duration',
  'kubernetes.Quantity': 'cel.Quantity',
};
function notIterable(over: Value): CelError {
  const { name } = runtimeType(over);
  return new CelError(`got '${typesOfGo[name] ?? name}', expected iterable type`);
}

const eachOf =
  (slot: number, round: (frame: Frame) => boolean): Iterate =>
  (frame, over) => {
    if (over instanceof CelList) {
      const { size } = over;
      for (let i = 0; i < size; i++) {
        frame.slots[slot] = over.at(i);
        if (!round(frame)) return undefined;
      }
      return undefined;
    }
    if (!(over instanceof CelMap)) return notIterable(over);
    for (const key of over.keys()) {
      frame.slots[slot] = key;
      if (!round(frame)) return undefined;
    }
    return undefined;
  };

const eachPairOf =
  (first: number, second: number, round: (frame: Frame) => boolean): Iterate =>
  (frame, over) => {
    if (!(over instanceof CelList || over instanceof CelMap))
      return new CelError(`unsupported comprehension range type: ${runtimeType(over).name}`);
    for (const [key, value] of pairsOf(over)) {
      frame.slots[first] = key;
      frame.slots[second] = value;
      if (!round(frame)) return undefined;
    }
    return undefined;
  };

function* pairsOf(over: CelList | CelMap): Generator<readonly [Value, Value]> {
  if (over instanceof CelList) for (let i = 0; i < over.size; i++) yield [BigInt(i), over.at(i)];
  else for (const key of over.keys()) yield [key, over.find(key)!];
}
