// Rules of CustomResourceDefinitions are compiled, and what they may cost is estimated, before a definition is stored. A
// schema that did not change is not looked at again: what was stored stays writable. So with the authorities of its webhook.
import { schemaDefaultErrors } from '../../api/apiextensions/v1/schema-defaults.ts';
import { placedSchemas } from '../../api/apiextensions/v1/validate-spec.ts';
import type { JsonObject, WrittenRules } from '../../apimachinery/declaration.ts';
import { semanticEqual } from '../../apimachinery/equality.ts';
import { type FieldError, invalid } from '../../apimachinery/field-error.ts';
import { obj, objs, spec, str } from '../../apimachinery/json-access.ts';
import { conversionFault } from '../../apimachinery/structural/convertible.ts';
import { structuralErrors } from '../../apimachinery/structural/structural-rules.ts';
import type { StructuralSchema } from '../../apimachinery/structural/structural-schema.ts';
import { conversionBundleFault, isEstablished } from '../../apiserver/apiextensions/definition-status.ts';
import type { RestHandler } from '../../apiserver/registry/rest-storage.ts';
import { hasRules } from '../../cel/rules/validation-rule.ts';

const schemasOf = (crd: JsonObject): StructuralSchema[] =>
  objs(spec(crd)['versions']).map((version) => obj(obj(version['schema'])['openAPIV3Schema']));

/** Those that this write brings. */
function newSchemas(
  crd: JsonObject,
  old: JsonObject | undefined,
): { at: string; schema: StructuralSchema }[] {
  const before = old === undefined ? [] : schemasOf(old);
  return placedSchemas(spec(crd)).filter(
    ({ schema }) => hasRules(schema) && !before.some((one) => semanticEqual(one, schema)),
  );
}

/** Types can't be told of a schema that is not structural, nor of one whose defaults are wrong. */
const isSound = (schema: StructuralSchema, at: string): boolean =>
  conversionFault(schema) === undefined &&
  structuralErrors(schema, at).length === 0 &&
  schemaDefaultErrors(schema, at, true).length === 0;

async function load(): Promise<WrittenRules> {
  const [{ DefinitionRules }, { defaultRuleErrors }] = await Promise.all([
    import('../../cel/rules/definition-rules.ts'),
    import('../../cel/rules/default-values.ts'),
  ]);
  return function* (crd, old, _context, found) {
    const errors: FieldError[] = [];
    for (const { at, schema } of newSchemas(crd, old)) {
      if ((old !== undefined || found.length > 0) && !isSound(schema, at)) continue;
      const ofDefaults = yield* defaultRuleErrors(schema, at);
      errors.push(...ofDefaults);
      if (ofDefaults.length > 0) continue;
      const isBroken = (path: string): boolean => found.some(({ field }) => isWithin(field, path));
      errors.push(...(yield* new DefinitionRules(isBroken).judge(schema, at)));
    }
    return errors;
  };
}

const isWithin = (field: string, path: string): boolean =>
  field === path || field.startsWith(`${path}.`) || field.startsWith(`${path}[`);

const bundleOf = (crd: JsonObject): string =>
  str(obj(obj(obj(spec(crd)['conversion'])['webhook'])['clientConfig'])['caBundle']);

/** As upstream: one that never worked may stay what it is, and a definition that is not yet served may have any. */
function bundleErrors(crd: JsonObject, old: JsonObject | undefined): FieldError[] {
  const bundle = bundleOf(crd);
  if (old === undefined || bundle === '' || bundle === bundleOf(old)) return [];
  if (obj(spec(crd)['conversion'])['strategy'] !== 'Webhook' || !isEstablished(old)) return [];
  const why = conversionBundleFault(crd);
  if (why === undefined || conversionBundleFault(old) !== undefined) return [];
  return [invalid('spec.conversion.webhookClientConfig.caBundle', bundle, why)];
}

/** With what is wrong in any case. */
async function rulesWith(errors: readonly FieldError[], isNew: boolean): Promise<WrittenRules> {
  const rules = isNew ? await load() : undefined;
  return function* (...given) {
    return rules === undefined ? errors : [...errors, ...(yield* rules(...given))];
  };
}

export const definitionRules: RestHandler = {
  hooks: {
    rules: (crd, old, { subresource }) => {
      if (subresource === 'status') return undefined;
      const errors = bundleErrors(crd, old);
      const isNew = newSchemas(crd, old).length > 0;
      return isNew || errors.length > 0 ? rulesWith(errors, isNew) : undefined;
    },
  },
};
