// Whether a device is one that an expression asks for: `device.driver == "x" && device.attributes["x"].size > 3`.
import type { Device, DeviceAttribute } from '../../../api/generated/types/resource-v1.ts';
import { boolType, dynType } from '../../../cel/cel-type.ts';
import { compileExpression } from '../../../cel/compile.ts';
import { kubernetesEnvironment } from '../../../cel/libraries/kubernetes.ts';
import { celQuantity } from '../../../cel/libraries/quantity.ts';
import { parseSemver } from '../../../cel/libraries/semver.ts';
import type { Program } from '../../../cel/program.ts';
import { Issues } from '../../../cel/source.ts';
import { CelError, CelMap, type Value, ValueMap } from '../../../cel/value.ts';

/** Upstream's CELSelectorExpressionMaxCost. */
const maxCost = 1_000_000;
/** Programs that are remembered: classes and claims of a cluster have few. */
const maxPrograms = 256;

const environment = kubernetesEnvironment.extend({ variables: { device: dynType } });

/** By the domain of their names; of a domain that nobody uses there is nothing, which is no error. */
class Domains extends CelMap {
  private readonly domains: ReadonlyMap<string, ValueMap>;

  constructor(domains: ReadonlyMap<string, ValueMap>) {
    super();
    this.domains = domains;
  }
  get size(): number {
    return this.domains.size;
  }
  find(key: Value): Value | undefined {
    return typeof key === 'string' ? (this.domains.get(key) ?? ValueMap.of([])) : undefined;
  }
  keys(): Iterable<Value> {
    return this.domains.keys();
  }
}

/** A name without a domain is of the driver's. */
export function fullName(driver: string, name: string): readonly [domain: string, name: string] {
  const slash = name.indexOf('/');
  return slash === -1 ? [driver, name] : [name.slice(0, slash), name.slice(slash + 1)];
}

function byDomain<T>(
  driver: string,
  of: Readonly<Record<string, T>> | undefined,
  toValue: (one: T) => Value,
): Domains {
  const domains = new Map<string, [string, Value][]>();
  for (const [full, one] of Object.entries(of ?? {})) {
    const [domain, name] = fullName(driver, full);
    const list = domains.get(domain) ?? [];
    list.push([name, toValue(one)]);
    domains.set(domain, list);
  }
  return new Domains(new Map([...domains].map(([domain, list]) => [domain, ValueMap.of(list)])));
}

function attributeValue({ bool, int, string, version }: DeviceAttribute): Value {
  if (int !== undefined) return BigInt(int);
  if (bool !== undefined) return bool;
  if (string !== undefined) return string;
  try {
    return parseSemver(version ?? '');
  } catch (error) {
    return new CelError(error instanceof Error ? error.message : String(error));
  }
}

const deviceValue = (driver: string, device: Device): Value =>
  ValueMap.of([
    ['driver', driver],
    ['allowMultipleAllocations', device.allowMultipleAllocations ?? false],
    ['attributes', byDomain(driver, device.attributes, attributeValue)],
    ['capacity', byDomain(driver, device.capacity, ({ value }) => celQuantity(String(value)))],
  ]);

const programs = new Map<string, Program | string>();

function compile(expression: string): Program | string {
  const checked = compileExpression(expression, environment);
  if (checked instanceof Issues) return String(checked);
  const { type } = checked;
  return type === boolType || type === dynType
    ? checked.program()
    : 'must evaluate to bool or the unknown type';
}

function programOf(expression: string): Program | string {
  const known = programs.get(expression) ?? compile(expression);
  if (programs.size >= maxPrograms) programs.clear();
  programs.set(expression, known);
  return known;
}

/** A text says what is wrong with the expression, or with what it does to this device. */
export function selectsDevice(expression: string, driver: string, device: Device): boolean | string {
  const program = programOf(expression);
  if (typeof program === 'string') return `could not compile CEL selector: ${program}`;
  const { value } = program.run({ device: deviceValue(driver, device) }, { cost: maxCost });
  if (value instanceof CelError) return value.message;
  return typeof value === 'boolean' ? value : 'CEL expression did not evaluate to a bool';
}
