// Types of expressions, and what does not fit, in the words of cel-go.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  boolType,
  dynType,
  formatType,
  intType,
  listOf,
  mapOf,
  optionalOf,
  stringType,
  structType,
  timestampType,
} from './cel-type.ts';
import { CheckedExpression, compileExpression } from './compile.ts';
import { Environment, languageLibraries } from './environment.ts';

const person = structType('Person');
const environment = new Environment({
  libraries: languageLibraries,
  validated: true,
  types: {
    findType: (name) => (name === 'Person' ? person : undefined),
    findField: (_type, field) =>
      new Map([
        ['name', stringType],
        ['friends', listOf(person)],
      ]).get(field),
  },
  variables: {
    p: person,
    i: intType,
    s: stringType,
    b: boolType,
    d: dynType,
    l: listOf(stringType),
    m: mapOf(stringType, intType),
    o: optionalOf(person),
    t: timestampType,
  },
});

test('each expression has a type', () => {
  const table: [text: string, type: string][] = [
    ['1u', 'uint'],
    ['p.friends[0].name', 'string'],
    ['p.friends.map(f, f.name)', 'list(string)'],
    ['m.map(k, m[k])', 'list(int)'],
    ['l.all(i, v, i > 0 && v == s)', 'bool'],
    ['o.?name', 'optional_type(string)'],
    ['o.name.orValue(s)', 'string'],
    ['p.?friends[?0].?name', 'optional_type(string)'],
    ['[]', 'list(dyn)'],
    ['[] + [1]', 'list(int)'],
    ['{}', 'map(dyn, dyn)'],
    ['d.a.b[0]', 'dyn'],
    ['b ? d : 1', 'dyn'],
    ['type(1)', 'type(int)'],
    ['int', 'type(int)'],
    ['t - t', 'duration'],
    ['t - duration("1s")', 'timestamp'],
    ['p == null', 'bool'],
    ['d + 1', 'int'],
    ['size(d)', 'int'],
    ['i < 1.5', 'bool'],
    ['m.transformMap(k, v, string(v))', 'map(string, string)'],
    ['[?o.?name, "x"]', 'list(string)'],
  ];
  for (const [text, type] of table) {
    const compiled = compileExpression(text, environment);
    assert.ok(compiled instanceof CheckedExpression, `${text}: ${compiled}`);
    assert.equal(formatType(compiled.type), type, text);
  }
});

test('what does not fit is told', () => {
  const table: [text: string, message: string][] = [
    ['q', "1:1: undeclared reference to 'q' (in container '')"],
    ['q.r.s', "1:1: undeclared reference to 'q' (in container '')"],
    ['f(i)', "1:2: undeclared reference to 'f' (in container '')"],
    ['s.f()', "1:4: undeclared reference to 'f' (in container '')"],
    ['p.age', "1:2: undefined field 'age'"],
    ['i.x', "1:2: type 'int' does not support field selection"],
    ['i + s', "1:3: found no matching overload for '_+_' applied to '(int, string)'"],
    ['s.startsWith(i)', "1:13: found no matching overload for 'startsWith' applied to 'string.(int)'"],
    ['i && b', "1:1: expected type 'bool' but found 'int'"],
    ['b ? i : s', "1:3: found no matching overload for '_?_:_' applied to '(bool, int, string)'"],
    ['[1, "a"]', "1:5: expected type 'int' but found 'string'"],
    ['{1: 2, "a": 3}', "1:8: expected type 'int' but found 'string'"],
    ['[?i]', "1:3: expected type 'optional_type(int)' but found 'int'"],
    [
      'i.all(x, true)',
      "1:1: expression of type 'int' cannot be range of a comprehension (must be list, map, or dynamic)",
    ],
    ['l.all(x, x)', "1:10: expected type 'bool' but found 'string'"],
    ['Person{age: 1}', "1:11: undefined field 'age'"],
    ['Person{name: 1}', "1:12: expected type of field 'name' is 'string' but provided type is 'int'"],
    ['int{}', "1:4: 'int' is not a message type"],
    ['duration("x")', '1:10: invalid duration argument'],
    ['timestamp("2026-02-30T00:00:00Z")', '1:11: invalid timestamp argument'],
    ['s.matches("(")', '1:11: invalid matches argument'],
    ['[1, dyn(2)]', "1:8: expected type 'int' but found 'dyn'"],
    ['m == {"a": 1, "b": dyn(2)}', "1:23: expected type 'int' but found 'dyn'"],
  ];
  for (const [text, message] of table) {
    const [first] = String(compileExpression(text, environment)).split('\n');
    assert.equal(first, `ERROR: <input>:${message}`, text);
  }
});

test('each fault is told, in the order of the text', () => {
  const issues = String(compileExpression('x.y > z && p.age == 1', environment));
  assert.deepEqual(
    issues.split('\n').filter((line) => line.startsWith('ERROR')),
    [
      "ERROR: <input>:1:1: undeclared reference to 'x' (in container '')",
      "ERROR: <input>:1:7: undeclared reference to 'z' (in container '')",
      "ERROR: <input>:1:13: undefined field 'age'",
    ],
  );
});
