// Lists and maps that a loop makes: they grow in place, for nothing else can see them until they are finished.
import { CelError, CelList, CelMap, mapKey, type Value, ValueList, ValueMap } from './value.ts';
import { formatValue } from './value-text.ts';

export class GrowingList extends CelList {
  private readonly values: Value[] = [];

  get size(): number {
    return this.values.length;
  }
  at(index: number): Value {
    return this.values[index]!;
  }
  override concat(other: CelList): Value {
    for (let i = 0; i < other.size; i++) this.values.push(other.at(i));
    return this;
  }
  finished(): CelList {
    return new ValueList(this.values);
  }
}

export class GrowingMap extends CelMap {
  private readonly entries = new Map<string | bigint | boolean, readonly [Value, Value]>();

  get size(): number {
    return this.entries.size;
  }
  find(key: Value): Value | undefined {
    const plain = mapKey(key);
    return plain === undefined ? undefined : this.entries.get(plain)?.[1];
  }
  *keys(): Generator<Value> {
    for (const [key] of this.entries.values()) yield key;
  }
  insert(key: Value, value: Value): Value {
    const plain = mapKey(key);
    if (plain === undefined || this.entries.has(plain))
      return new CelError(`insert failed: key ${formatValue(key)} already exists`);
    this.entries.set(plain, [key, value]);
    return this;
  }
  finished(): CelMap {
    return new ValueMap(this.entries);
  }
}
