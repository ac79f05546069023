// Which webhooks and policies a request is for, and as which version of its resource they see it.
import { namespaces } from '../../../api/generated/resources.ts';
import type {
  GroupVersionKind,
  JsonObject,
  ResourceDeclaration,
  Scheme,
} from '../../../apimachinery/declaration.ts';
import { internalError, notFound } from '../../../apimachinery/errors.ts';
import { copyJson, meta, obj } from '../../../apimachinery/json-access.ts';
import { isEverything, matchesSelector, type Selector } from '../../../apimachinery/label-selector.ts';
import type { Labels } from '../../../apimachinery/labels.ts';
import { apiVersionOf } from '../../../apimachinery/resource-ref.ts';
import type { LiveObjects } from '../../live-objects.ts';
import type { AdmissionRequest } from '../admission.ts';
import type { Webhook } from './webhook.ts';

/** Operations on resources; no names are all names. */
export type NamedRule = Webhook['rules'][number] & { readonly resourceNames?: readonly string[] | undefined };

/** What a webhook or a policy is for. */
export interface MatchCriteria {
  readonly rules: readonly NamedRule[];
  /** What it is not for, whatever its rules say. */
  readonly excluded?: readonly NamedRule[];
  /** Without rules it is for everything that its selectors take. */
  readonly forAll?: boolean;
  readonly equivalent: boolean;
  /** An error: of a configuration from before selectors were checked. */
  readonly namespaces: Selector | Error;
  readonly objects: Selector | Error;
}

/** As rules name the resource: perhaps another version than the request's. */
export interface Seen {
  readonly seen: ResourceDeclaration;
  readonly kind: GroupVersionKind;
}

/** A webhook that is to be asked. */
export interface Invocation extends Seen {
  readonly webhook: Webhook;
}

const exempt: readonly string[] = [
  'MutatingAdmissionPolicy',
  'MutatingAdmissionPolicyBinding',
  'MutatingWebhookConfiguration',
  'ValidatingAdmissionPolicy',
  'ValidatingAdmissionPolicyBinding',
  'ValidatingWebhookConfiguration',
];

/** What would let a webhook keep itself from being removed. */
export const isExempt = ({ declaration }: AdmissionRequest): boolean =>
  declaration.group === 'admissionregistration.k8s.io' && exempt.includes(declaration.kind);

const isNamespace = ({ declaration }: AdmissionRequest): boolean =>
  declaration.group === '' && declaration.resource === 'namespaces';

/** As upstream's attributes have it: a Namespace is in itself. */
export const namespaceOf = (request: AdmissionRequest): string =>
  isNamespace(request) ? request.name : request.namespace;

const named = (items: readonly string[] | undefined, asked: string): boolean =>
  items?.some((item) => item === '*' || item === asked) === true;

function isInScope({ scope = '*' }: NamedRule, request: AdmissionRequest): boolean {
  if (scope === '*') return true;
  const namespaced = request.namespace !== '' && !isNamespace(request);
  return scope === (namespaced ? 'Namespaced' : 'Cluster');
}

const isResource = ({ resources = [] }: NamedRule, resource: string, subresource: string): boolean =>
  resources.some((text) => {
    const at = text.indexOf('/');
    const [parent, sub] = at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
    return (parent === '*' || parent === resource) && (sub === '*' || sub === subresource);
  });

const isNamed = ({ resourceNames = [] }: NamedRule, { name }: AdmissionRequest): boolean =>
  resourceNames.length === 0 || resourceNames.includes(name);

const matchesRule = (rule: NamedRule, request: AdmissionRequest, as: ResourceDeclaration): boolean =>
  named(rule.operations, request.operation) &&
  named(rule.apiGroups, as.group) &&
  named(rule.apiVersions, as.version) &&
  isResource(rule, as.resource, request.subresource) &&
  isInScope(rule, request) &&
  isNamed(rule, request);

/** The kind of what is written: of a subresource perhaps another than the resource's. */
export const kindOf = (declaration: ResourceDeclaration, subresource: string): GroupVersionKind =>
  declaration.subresources.find(({ name }) => name === subresource)?.kind ?? declaration;

const labelsOf = (object: Parameters<typeof meta>[0] | undefined): Labels =>
  obj(meta(object ?? {})['labels']) as Labels;

export class WebhookMatcher {
  readonly #live: LiveObjects;
  readonly #scheme: Scheme;
  /** Other served versions of what is stored alike, as long as the scheme is the same. */
  #equivalents = new Map<ResourceDeclaration, readonly ResourceDeclaration[]>();
  #resources: readonly ResourceDeclaration[] | undefined;

  constructor(live: LiveObjects, scheme: Scheme) {
    this.#live = live;
    this.#scheme = scheme;
  }

  /** undefined when the webhook is not for the request. Throws 404 when that can't be said as its namespace is gone. */
  match(webhook: Webhook, request: AdmissionRequest): Invocation | undefined {
    const found = this.seenBy(webhook, request);
    return found && { webhook, ...found };
  }

  /** As `match`, of whatever has criteria. */
  seenBy(criteria: MatchCriteria, request: AdmissionRequest): Seen | undefined {
    const { namespaces: inNamespaces, objects } = criteria;
    const broken = [inNamespaces, objects].find((selector) => selector instanceof Error);
    const inNamespace = inNamespaces instanceof Error || this.#isNamespaceSelected(inNamespaces, request);
    if (inNamespace === false || !(objects instanceof Error || isObjectSelected(objects, request)))
      return undefined;
    const seen = this.#versionFor(criteria, request);
    if (seen === undefined) return undefined;
    if (broken !== undefined) throw internalError(broken);
    if (inNamespace === 'missing') throw notFound(namespaces, request.namespace);
    const { group, version, kind } = kindOf(seen, request.subresource);
    return { seen, kind: { group, version, kind } };
  }

  #versionFor(criteria: MatchCriteria, request: AdmissionRequest): ResourceDeclaration | undefined {
    const { rules, excluded = [], forAll = false, equivalent } = criteria;
    if (excluded.length > 0 && this.#ruledIn(excluded, equivalent, request)) return undefined;
    return forAll && rules.length === 0 ? request.declaration : this.#ruledIn(rules, equivalent, request);
  }

  #ruledIn(
    rules: readonly NamedRule[],
    equivalent: boolean,
    request: AdmissionRequest,
  ): ResourceDeclaration | undefined {
    const { declaration } = request;
    if (rules.some((rule) => matchesRule(rule, request, declaration))) return declaration;
    if (!equivalent || declaration.virtual) return undefined;
    const others = this.#others(declaration);
    if (others.length === 0) return undefined;
    for (const rule of rules) {
      const found = others.find((other) => matchesRule(rule, request, other));
      if (found !== undefined) return found;
    }
    return undefined;
  }

  #others(declaration: ResourceDeclaration): readonly ResourceDeclaration[] {
    const all = this.#scheme.resources();
    if (all !== this.#resources) {
      this.#resources = all;
      this.#equivalents = new Map();
    }
    let found = this.#equivalents.get(declaration);
    if (found === undefined) {
      const { group, version, resource } = declaration.storage;
      found = all.filter(
        (d) =>
          d !== declaration &&
          !d.virtual &&
          d.storage.group === group &&
          d.storage.version === version &&
          d.storage.resource === resource,
      );
      this.#equivalents.set(declaration, found);
    }
    return found;
  }

  #isNamespaceSelected(selector: Selector, request: AdmissionRequest): boolean | 'missing' {
    if (isEverything(selector) || (namespaceOf(request) === '' && !isNamespace(request))) return true;
    const { operation, subresource, object } = request;
    // Its new labels count, which are not stored yet.
    if (isNamespace(request) && subresource === '' && (operation === 'CREATE' || operation === 'UPDATE'))
      return matchesSelector(selector, labelsOf(object));
    const namespace = this.#live.get(namespaces, namespaceOf(request));
    if (namespace === undefined) return 'missing';
    return matchesSelector(selector, namespace.metadata.labels as Labels | undefined);
  }
}

function isObjectSelected(selector: Selector, { object, oldObject }: AdmissionRequest): boolean {
  if (isEverything(selector)) return true;
  return [object, oldObject].some(
    (one) => one !== undefined && one['metadata'] !== undefined && matchesSelector(selector, labelsOf(one)),
  );
}

/**
 * The object as another version has it. Of a subresource that is a kind of its own there is but one. Throws 500 when
 * nobody can tell.
 */
export async function convert(
  object: JsonObject,
  from: ResourceDeclaration,
  to: ResourceDeclaration,
): Promise<JsonObject> {
  const isOther = from.custom === true && object['apiVersion'] !== apiVersionOf(from);
  if (from === to || isOther) return object;
  if (to.shown !== undefined) return to.shown.from(object);
  const stored = from.conversion ? from.conversion.toStorage(object) : object;
  const own = stored === object ? copyJson(object) : stored;
  const converted = to.conversion ? to.conversion.fromStorage(own) : own;
  const apiVersion = apiVersionOf(to);
  if (converted['kind'] !== to.kind || converted['apiVersion'] !== apiVersion)
    throw internalError(new Error(`unable to convert to ${apiVersion}, Kind=${to.kind}: unknown kind`));
  return converted;
}
