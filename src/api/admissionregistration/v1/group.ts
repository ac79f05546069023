// The kinds of admissionregistration.k8s.io/v1: webhooks and policies.
import type { Json, JsonObject } from '../../../apimachinery/declaration.ts';
import {
  arr,
  ensure,
  isObject,
  obj,
  objs,
  setDefault,
  spec,
  str,
} from '../../../apimachinery/json-access.ts';
import type { GroupBehaviours, KindBehaviour } from '../../../apimachinery/kind-behaviour.ts';
import { ageCell, nameCell } from '../../meta/row-cells.ts';

function webhookDefaults(configuration: JsonObject, mutating: boolean): void {
  for (const webhook of objs(configuration['webhooks'])) {
    setDefault(webhook, 'failurePolicy', 'Fail');
    setDefault(webhook, 'matchPolicy', 'Equivalent');
    setDefault(webhook, 'namespaceSelector', {});
    setDefault(webhook, 'objectSelector', {});
    setDefault(webhook, 'timeoutSeconds', 10);
    if (mutating) setDefault(webhook, 'reinvocationPolicy', 'Never');
    const service = obj(webhook['clientConfig'])['service'];
    if (isObject(service)) setDefault(service, 'port', 443);
    for (const rule of objs(webhook['rules'])) setDefault(rule, 'scope', '*');
  }
}

function matchDefaults(match: Json | undefined): void {
  if (!isObject(match)) return;
  setDefault(match, 'matchPolicy', 'Equivalent');
  setDefault(match, 'namespaceSelector', {});
  setDefault(match, 'objectSelector', {});
  for (const rule of [...objs(match['resourceRules']), ...objs(match['excludeResourceRules'])])
    setDefault(rule, 'scope', '*');
}

const kindText = (kind: Json | undefined): string =>
  isObject(kind) ? `${str(kind['apiVersion'])}/${str(kind['kind'])}` : '<unset>';

function refText(reference: Json | undefined): string {
  if (!isObject(reference)) return '<unset>';
  const namespace = str(reference['namespace']);
  if (str(reference['name']) !== '')
    return namespace === '' ? str(reference['name']) : `${namespace}/${str(reference['name'])}`;
  return namespace === '' ? '*' : `${namespace}/*`;
}

const webhooks = (mutating: boolean): KindBehaviour => ({
  hasGeneration: true,
  row: (o, now) => [nameCell(o), arr(o['webhooks']).length, ageCell(o, now)],
  strategy: { applyDefaults: (o) => webhookDefaults(o, mutating) },
});
const policy = (list: string): KindBehaviour => ({
  hasGeneration: true,
  row: (o, now) => [nameCell(o), arr(spec(o)[list]).length, kindText(spec(o)['paramKind']), ageCell(o, now)],
  strategy: {
    applyDefaults(o) {
      const s = ensure(o, 'spec');
      setDefault(s, 'failurePolicy', 'Fail');
      matchDefaults(s['matchConstraints']);
    },
  },
});
const policyBinding: KindBehaviour = {
  hasGeneration: true,
  row: (o, now) => [nameCell(o), str(spec(o)['policyName']), refText(spec(o)['paramRef']), ageCell(o, now)],
  strategy: { applyDefaults: (o) => matchDefaults(spec(o)['matchResources']) },
};

export const admissionregistrationV1: GroupBehaviours = {
  mutatingadmissionpolicies: policy('mutations'),
  mutatingadmissionpolicybindings: policyBinding,
  mutatingwebhookconfigurations: webhooks(true),
  validatingadmissionpolicies: policy('validations'),
  validatingadmissionpolicybindings: policyBinding,
  validatingwebhookconfigurations: webhooks(false),
};
