// SubjectAccessReview and its relatives: asks the server's own authorizer and says what it said.
import type { JsonObject } from '../../apimachinery/declaration.ts';
import { badRequest, invalidObject } from '../../apimachinery/errors.ts';
import { type FieldError, invalid } from '../../apimachinery/field-error.ts';
import { isObject, obj, spec, str, strs } from '../../apimachinery/json-access.ts';
import type { UserInfo } from '../../apiserver/authentication/user-info.ts';
import type {
  AuthorizationAttributes,
  Authorizer,
  UserRules,
} from '../../apiserver/authorization/authorizer.ts';
import { fieldRequirements } from '../../apiserver/authorization/selector-requirements.ts';
import type { RestHandler, RestRequest } from '../../apiserver/registry/rest-storage.ts';
import { readSelector, selectorErrors } from './review-selectors.ts';

type Kind = 'SubjectAccessReview' | 'SelfSubjectAccessReview' | 'LocalSubjectAccessReview';

function attributesOf(review: JsonObject, user: UserInfo): AuthorizationAttributes {
  const resource = spec(review).resourceAttributes;
  const path = obj(spec(review).nonResourceAttributes);
  const attributes = obj(resource);
  const isResource = isObject(resource);
  const { asked: fieldSelector } = readSelector(attributes.fieldSelector, 'fieldSelector');
  const { asked: labelSelector } = readSelector(attributes.labelSelector, 'labelSelector');
  const fields = Object.fromEntries(
    (fieldRequirements(fieldSelector) ?? [])
      .filter(({ operator }) => operator === 'In')
      .map(({ key, values }) => [key, values[0] ?? '']),
  );
  return {
    user,
    verb: str(isResource ? attributes.verb : path.verb),
    isResource,
    group: str(attributes.group),
    version: str(attributes.version),
    resource: str(attributes.resource),
    subresource: str(attributes.subresource),
    namespace: str(attributes.namespace),
    name: str(attributes.name),
    path: str(path.path),
    fields,
    fieldSelector,
    labelSelector,
  };
}

const selectors = ['fieldSelector', 'labelSelector'] as const;

/** What could not be read narrowed nothing: whoever asked is told. */
function evaluationError(review: JsonObject): string {
  const attributes = obj(spec(review).resourceAttributes);
  const texts = selectors
    .filter((which) => readSelector(attributes[which], which).isCut)
    .map((which) => `spec.resourceAttributes.${which} ignored due to parse error`);
  return texts.length > 1 ? `[${texts.join(', ')}]` : (texts[0] ?? '');
}

function validate(kind: Kind, review: JsonObject): void {
  const errors: FieldError[] = [];
  const { resourceAttributes, nonResourceAttributes, user, groups } = spec(review);
  const about = isObject(resourceAttributes) ? 'spec.nonResourceAttributes' : 'spec.resourceAttributes';
  if (isObject(resourceAttributes) && isObject(nonResourceAttributes)) {
    errors.push(
      invalid(about, nonResourceAttributes, 'cannot be specified in combination with resourceAttributes'),
    );
  }
  if (!isObject(resourceAttributes) && !isObject(nonResourceAttributes)) {
    errors.push(
      invalid(
        about,
        undefined,
        'exactly one of nonResourceAttributes or resourceAttributes must be specified',
      ),
    );
  }
  for (const which of selectors) {
    const selector = obj(resourceAttributes)[which];
    if (isObject(selector))
      errors.push(...selectorErrors(selector, `spec.resourceAttributes.${which}`, which));
  }
  if (kind !== 'SelfSubjectAccessReview' && str(user) === '' && strs(groups).length === 0) {
    errors.push(invalid('spec.user', str(user), 'at least one of user or group must be specified'));
  }
  if (errors.length > 0) throw invalidObject({ group: 'authorization.k8s.io', kind }, '', errors);
}

function subjectOf(review: JsonObject): UserInfo {
  const { user, uid, groups, extra } = spec(review);
  return {
    name: str(user),
    groups: strs(groups),
    ...(str(uid) === '' ? {} : { uid: str(uid) }),
    extra: Object.fromEntries(Object.entries(obj(extra)).map(([key, list]) => [key, strs(list)])),
  };
}

export function createAccessReview(kind: Kind, authorizer: Authorizer): RestHandler {
  return {
    async create(request: RestRequest) {
      const review = request.object ?? {};
      validate(kind, review);
      const user = kind === 'SelfSubjectAccessReview' ? request.context.user : subjectOf(review);
      const attributes = attributesOf(review, user);
      if (kind === 'LocalSubjectAccessReview' && attributes.namespace !== request.namespace) {
        throw badRequest(`spec.resourceAttributes.namespace must match namespace: ${request.namespace}`);
      }
      const { decision, reason, error } = await authorizer.authorize(attributes);
      const cut = error ?? evaluationError(review);
      return {
        status: 201,
        object: {
          ...review,
          status: {
            allowed: decision === 'allow',
            ...(decision === 'deny' ? { denied: true } : {}),
            ...(reason === '' ? {} : { reason }),
            ...(cut === '' ? {} : { evaluationError: cut }),
          },
        },
      };
    },
  };
}

const noRules: UserRules = { rules: [], incomplete: false, errors: [] };

/** As upstream prints several errors. */
const aggregate = (errors: readonly string[]): string =>
  errors.length === 1 ? errors[0]! : `[${[...new Set(errors)].join(', ')}]`;

export function createRulesReview({ rulesFor }: Authorizer): RestHandler {
  return {
    create(request) {
      const review = request.object ?? {};
      const namespace = str(spec(review).namespace);
      if (namespace === '') throw badRequest('no namespace on request');
      const { rules, incomplete, errors } = rulesFor?.(request.context.user, namespace) ?? noRules;
      const all = rules as readonly JsonObject[];
      const resourceRules = all
        .filter((rule) => strs(rule.resources).length > 0)
        .map(({ verbs, apiGroups, resources, resourceNames }) => ({
          verbs: verbs ?? [],
          ...(apiGroups === undefined ? {} : { apiGroups }),
          ...(resources === undefined ? {} : { resources }),
          ...(resourceNames === undefined ? {} : { resourceNames }),
        }));
      const nonResourceRules = all
        .filter((rule) => strs(rule.nonResourceURLs).length > 0)
        .map(({ verbs, nonResourceURLs }) => ({
          verbs: verbs ?? [],
          nonResourceURLs: nonResourceURLs ?? [],
        }));
      return {
        status: 201,
        object: {
          ...review,
          status: {
            resourceRules,
            nonResourceRules,
            incomplete,
            ...(errors.length > 0 ? { evaluationError: aggregate(errors) } : {}),
          },
        },
      };
    },
  };
}
