// Whether one type may stand for another, and what type parameters stand for: the rules of cel-go's checker.
import {
  type CelType,
  dynType,
  formatType,
  isExactType,
  listOf,
  mapOf,
  opaqueType,
  optionalOf,
  typeOf,
} from './cel-type.ts';

/** What type parameters stand for, by name. */
export type Substitutions = ReadonlyMap<string, CelType>;
type Draft = Map<string, CelType>;

export const isDyn = (type: CelType): boolean => type.kind === 'dyn';
export const isDynOrError = (type: CelType): boolean => type.kind === 'error' || isDyn(type);

/** The inner type of an optional. */
export const unwrapOptional = (type: CelType): CelType | undefined =>
  type.kind === 'opaque' && type.name === 'optional_type' ? type.params[0] : undefined;

const nullable: ReadonlySet<string> = new Set(['opaque', 'struct', 'duration', 'timestamp', 'null']);

/** The substitutions under which each of `from` may stand where `to` is wanted; undefined where none are. */
export function unify(
  known: Substitutions,
  from: readonly CelType[],
  to: readonly CelType[],
): Substitutions | undefined {
  const draft = new Map(known);
  return allAssignable(draft, from, to) ? draft : undefined;
}

const allAssignable = (draft: Draft, from: readonly CelType[], to: readonly CelType[]): boolean =>
  from.length === to.length && from.every((type, i) => isAssignable(draft, type, to[i]!));

function isAssignable(draft: Draft, from: CelType, to: CelType): boolean {
  if (to.kind === 'param') {
    const { valid, known } = substitutes(draft, from, to);
    if (valid) return true;
    if (known) return false;
  }
  if (from.kind === 'param') return substitutes(draft, to, from).valid;
  if (isDynOrError(from) || isDynOrError(to)) return true;
  if (from.kind === 'null') return nullable.has(to.kind);
  if (to.kind === 'null') return nullable.has(from.kind);
  if (from.kind === 'type') return to.kind === 'type';
  if (from.kind === 'opaque' || from.kind === 'list' || from.kind === 'map')
    return from.kind === to.kind && from.name === to.name && allAssignable(draft, from.params, to.params);
  return isExactType(from, to);
}

/** Whether a parameter may stand for a type, and whether it stood for one already. */
function substitutes(draft: Draft, type: CelType, param: CelType): { valid: boolean; known: boolean } {
  if (type.kind === param.kind && isExactType(type, param)) return { valid: true, known: true };
  const known = draft.get(param.name);
  if (known) {
    if (type.kind === known.kind && isExactType(type, known)) return { valid: true, known: true };
    if (!isAssignable(draft, type, known)) return { valid: false, known: true };
    const general = mostGeneral(type, known);
    if (!occursIn(draft, param, general)) draft.set(param.name, general);
    return { valid: true, known: true };
  }
  if (occursIn(draft, param, type)) return { valid: false, known: false };
  draft.set(param.name, type);
  return { valid: true, known: false };
}

function occursIn(draft: Substitutions, param: CelType, type: CelType): boolean {
  if (isExactType(param, type)) return true;
  if (type.kind === 'param') {
    const known = draft.get(type.name);
    return known !== undefined && occursIn(draft, param, known);
  }
  return type.params.some((inner) => occursIn(draft, param, inner));
}

/** Of two types that agree, the one that says less. */
export const mostGeneral = (a: CelType, b: CelType): CelType => (isLessSpecific(a, b) ? a : b);

function isLessSpecific(a: CelType, b: CelType): boolean {
  if (isDyn(a) || a.kind === 'param') return true;
  if (isDyn(b) || b.kind === 'param' || a.kind !== b.kind) return false;
  switch (a.kind) {
    case 'opaque':
    case 'list':
    case 'map':
      return (
        a.name === b.name &&
        a.params.length === b.params.length &&
        a.params.every((param, i) => isLessSpecific(param, b.params[i]!))
      );
    case 'type':
      return true;
    default:
      return isExactType(a, b);
  }
}

/** With parameters replaced by what they stand for; those that stand for nothing become dyn when `final`. */
export function substitute(known: Substitutions, type: CelType, final: boolean): CelType {
  if (type.kind === 'param') {
    const bound = known.get(type.name);
    if (bound) return substitute(known, bound, final);
    return final ? dynType : type;
  }
  if (type.params.length === 0) return type;
  const params = type.params.map((param) => substitute(known, param, final));
  if (params.every((param, i) => param === type.params[i])) return type;
  return withParams(type, params);
}

function withParams(type: CelType, params: readonly CelType[]): CelType {
  const [first, second] = params as [CelType, CelType];
  if (type.kind === 'list') return listOf(first);
  if (type.kind === 'map') return mapOf(first, second);
  if (type.kind === 'type') return typeOf(first);
  return type.name === 'optional_type' ? optionalOf(first) : opaqueType(type.name, ...params);
}

/** `(int, string)`, or `list(int).(string)` for a member function. */
export function formatArguments(types: readonly CelType[], member: boolean): string {
  const [target, ...rest] = types;
  const args = (member ? rest : types).map(formatType).join(', ');
  return member ? `${formatType(target!)}.(${args})` : `(${args})`;
}
