// Claims and users as values of expressions: every number is a double, as Go reads JSON, and members go also by the names that fields are written by.
import type { Json, JsonObject } from '../../../apimachinery/json.ts';
import { unescapeFieldName } from '../../../cel/field-names.ts';
import { CelList, CelMap, type Value } from '../../../cel/value.ts';

export function claimValue(json: Json | undefined): Value {
  if (json === null || json === undefined) return null;
  if (typeof json !== 'object') return json;
  return Array.isArray(json) ? new ClaimList(json) : new ClaimMap(json as JsonObject);
}

class ClaimList extends CelList {
  private readonly json: readonly Json[];

  constructor(json: readonly Json[]) {
    super();
    this.json = json;
  }
  get size(): number {
    return this.json.length;
  }
  at(index: number): Value {
    return claimValue(this.json[index]);
  }
}

class ClaimMap extends CelMap {
  private readonly json: JsonObject;

  constructor(json: JsonObject) {
    super();
    this.json = json;
  }
  get size(): number {
    return Object.keys(this.json).length;
  }
  find(key: Value): Value | undefined {
    if (typeof key !== 'string') return undefined;
    const name = unescapeFieldName(key) ?? key;
    return Object.hasOwn(this.json, name) ? claimValue(this.json[name]) : undefined;
  }
  keys(): Iterable<Value> {
    return Object.keys(this.json);
  }
}
