// Variables and what is selected from them: `self.spec.ports[0].?name`. A chain is resolved in one go, and costs one for each part.
import type { Frame, Step } from './frame.ts';
import {
  CelError,
  CelList,
  CelMap,
  noSuchOverload,
  Optional,
  runtimeType,
  Uint,
  type Value,
} from './value.ts';
import { formatValue } from './value-text.ts';

/** One part of a chain. */
export interface Qualifier {
  /** From here on the chain gives an optional. */
  readonly optional: boolean;
  /** Asks whether there is something. */
  readonly isTest?: boolean;
  apply(frame: Frame, from: Value): Value;
  /** undefined where there is nothing. */
  applyIfPresent(frame: Frame, from: Value): Value | undefined;
}

export interface Attribute {
  /** Without the cost of the attribute as a whole. */
  readonly resolve: Step;
  /** `c ? a : b` and `has(a.b)` cost nothing besides their parts. */
  readonly isFree: boolean;
  with(qualifier: Qualifier): Attribute;
}

export const attributeStep = ({ resolve, isFree }: Attribute): Step =>
  isFree
    ? resolve
    : (frame) => {
        const value = resolve(frame);
        frame.charge(1);
        return value;
      };

/** What begins with the value of a step, variable or not. */
export function attribute(start: Step, qualifiers: readonly Qualifier[] = []): Attribute {
  const isTest = qualifiers.at(-1)?.isTest === true;
  const resolve = chain(start, qualifiers);
  return {
    resolve: isTest ? asPresence(resolve) : resolve,
    isFree: isTest,
    with: (qualifier) => attribute(start, [...qualifiers, qualifier]),
  };
}

/** Of a chain that gives an optional: whether there is a value in it. */
const asPresence =
  (resolve: Step): Step =>
  (frame) => {
    const value = resolve(frame);
    return value instanceof Optional ? value.value !== undefined : value;
  };

export function conditionalAttribute(condition: Step, whenTrue: Attribute, whenFalse: Attribute): Attribute {
  const [yes, no] = [whenTrue.resolve, whenFalse.resolve];
  return {
    resolve: (frame) => {
      const decided = condition(frame);
      if (decided === true) return yes(frame);
      if (decided === false) return no(frame);
      return decided instanceof CelError ? decided : noSuchOverload;
    },
    isFree: true,
    with: (qualifier) => conditionalAttribute(condition, whenTrue.with(qualifier), whenFalse.with(qualifier)),
  };
}

function chain(start: Step, qualifiers: readonly Qualifier[]): Step {
  const [first, second] = qualifiers;
  if (first === undefined) return start;
  if (qualifiers.some((qualifier) => qualifier.optional))
    return (frame) => qualify(frame, start(frame), qualifiers);
  if (second === undefined)
    return (frame) => {
      const value = start(frame);
      if (value instanceof Optional) return qualify(frame, value, qualifiers);
      return value instanceof CelError ? value : first.apply(frame, value);
    };
  return (frame) => {
    let value = start(frame);
    if (value instanceof Optional) return qualify(frame, value, qualifiers);
    for (const qualifier of qualifiers) {
      if (value instanceof CelError) return value;
      value = qualifier.apply(frame, value);
    }
    return value;
  };
}

function qualify(frame: Frame, start: Value, qualifiers: readonly Qualifier[]): Value {
  let isOptional = start instanceof Optional;
  if (start instanceof Optional && start.value === undefined) return start;
  let value = start instanceof Optional ? start.value! : start;
  for (const qualifier of qualifiers) {
    if (value instanceof CelError) return value;
    isOptional ||= qualifier.optional;
    const next = isOptional ? qualifier.applyIfPresent(frame, value) : qualifier.apply(frame, value);
    if (next === undefined) return Optional.none;
    value = next;
  }
  return !isOptional || value instanceof CelError ? value : new Optional(value);
}

const missing = (from: Value, key: Value): CelError =>
  new CelError(`${from instanceof CelList ? 'index out of bounds' : 'no such key'}: ${formatValue(key)}`);

/** The index that a value is. */
function listIndex(key: Value): number | CelError {
  if (typeof key === 'bigint') return Number(key);
  if (key instanceof Uint && key.value <= 0x7fffffffffffffffn) return Number(key.value);
  if (typeof key === 'number' && Number.isInteger(key)) return key;
  if (typeof key === 'number' || key instanceof Uint)
    return new CelError(`unsupported index value ${formatValue(key)} in list`);
  return new CelError(`unsupported index type '${runtimeType(key).name}' in list`);
}

/** undefined where there is nothing. */
function lookUp(from: Value, key: Value): Value | undefined {
  if (from instanceof CelMap) return from.find(key);
  if (from instanceof CelList) {
    const index = listIndex(key);
    if (index instanceof CelError) return index;
    return index >= 0 && index < from.size ? from.at(index) : undefined;
  }
  return from instanceof CelError ? from : undefined;
}

export const constantQualifier = (key: Value, optional: boolean): Qualifier => ({
  optional,
  apply(frame, from) {
    frame.charge(1);
    const value = lookUp(from, key);
    return value === undefined ? missing(from, key) : value;
  },
  applyIfPresent(frame, from) {
    const value = lookUp(from, key);
    if (value !== undefined) frame.charge(1);
    return value;
  },
});

/** `a[b]`: the key is resolved when the chain is. */
export const computedQualifier = (key: Step, optional: boolean): Qualifier => ({
  optional,
  apply(frame, from) {
    const resolved = key(frame);
    frame.charge(1);
    if (resolved instanceof CelError) return resolved;
    const value = lookUp(from, resolved);
    return value === undefined ? missing(from, resolved) : value;
  },
  applyIfPresent(frame, from) {
    const resolved = key(frame);
    const value = resolved instanceof CelError ? resolved : lookUp(from, resolved);
    if (value !== undefined) frame.charge(1);
    return value;
  },
});

/** The last part of `has(a.b)`: whether there is one. */
export const presenceQualifier = (field: string): Qualifier => ({
  optional: false,
  isTest: true,
  apply(frame, from) {
    frame.charge(1);
    const value = lookUp(from, field);
    return value instanceof CelError ? value : value !== undefined;
  },
  applyIfPresent(frame, from) {
    frame.charge(1);
    return lookUp(from, field);
  },
});
