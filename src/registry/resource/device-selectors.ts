// Expressions that select devices are compiled, and what they may cost is estimated, before what holds them is stored. What did not
// change is not looked at again: what was stored stays writable.
import type { JsonObject, WrittenRules } from '../../apimachinery/declaration.ts';
import { semanticEqual } from '../../apimachinery/equality.ts';
import type { FieldError } from '../../apimachinery/field-error.ts';
import { obj, objs, spec, str } from '../../apimachinery/json-access.ts';
import type { RestHandler } from '../../apiserver/registry/rest-storage.ts';

interface Expression {
  readonly field: string;
  readonly text: string;
}

function selected(holder: JsonObject, at: string): Expression[] {
  return objs(holder['selectors']).flatMap(({ cel }, i) =>
    cel === undefined
      ? []
      : [{ field: `${at}.selectors[${i}].cel.expression`, text: str(obj(cel)['expression']) }],
  );
}

const requested = (devices: JsonObject, at: string): Expression[] =>
  objs(devices['requests']).flatMap((request, i) => {
    const here = `${at}.requests[${i}]`;
    return [
      ...objs(request['firstAvailable']).flatMap((one, j) => selected(one, `${here}.firstAvailable[${j}]`)),
      ...selected(obj(request['exactly']), `${here}.exactly`),
    ];
  });

type Holder = 'deviceclasses' | 'resourceclaims' | 'resourceclaimtemplates';

const expressionsOf: Readonly<Record<Holder, (object: JsonObject) => Expression[]>> = {
  deviceclasses: (object) => selected(spec(object), 'spec'),
  resourceclaims: (object) => requested(obj(spec(object)['devices']), 'spec.devices'),
  resourceclaimtemplates: (object) =>
    requested(obj(obj(spec(object)['spec'])['devices']), 'spec.spec.devices'),
};

async function load(expressions: readonly Expression[]): Promise<WrittenRules> {
  const { deviceExpressionErrors } = await import('./device-expressions.ts');
  return function* (_object, _old, _context, found) {
    const errors: FieldError[] = [];
    for (const { field, text } of expressions) {
      // One that is too long is not read.
      if (found.some((error) => error.field === field)) continue;
      errors.push(...deviceExpressionErrors(field, text));
      yield;
    }
    return errors;
  };
}

export const deviceSelectors = (resource: Holder): RestHandler => ({
  hooks: {
    rules(object, old) {
      if (old !== undefined && semanticEqual(spec(object), spec(old))) return undefined;
      const expressions = expressionsOf[resource](object);
      return expressions.length === 0 ? undefined : load(expressions);
    },
  },
});
