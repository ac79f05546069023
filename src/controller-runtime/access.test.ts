// What a declaration allows, and the rules of a role that allow the same.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { jobs, pods, statefulsets } from '../api/generated/resources.ts';
import { anything, isDeclared, may, mayRecordEvents, rulesFor } from './access.ts';

describe('isDeclared', () => {
  it('knows verb, group, resource and subresource', () => {
    const list = [may(['get', 'delete'], jobs), may('update', jobs, 'status')];
    assert.ok(isDeclared(list, 'delete', jobs));
    assert.ok(isDeclared(list, 'update', jobs, 'status'));
    assert.ok(!isDeclared(list, 'update', jobs));
    assert.ok(!isDeclared(list, 'get', jobs, 'status'));
    assert.ok(!isDeclared(list, 'get', pods));
    assert.ok(!isDeclared(list, 'get', { group: 'example.com', resource: 'jobs' }));
  });

  it('knows every resource, and one subresource of every resource', () => {
    assert.ok(isDeclared([may('list', anything)], 'list', pods));
    assert.ok(isDeclared([may('list', anything)], 'list', pods, 'status'));
    assert.ok(!isDeclared([may('list', anything)], 'get', pods));
    assert.ok(isDeclared([may('get', anything, 'scale')], 'get', statefulsets, 'scale'));
    assert.ok(!isDeclared([may('get', anything, 'scale')], 'get', statefulsets, 'status'));
    assert.ok(!isDeclared([may('get', anything, 'scale')], 'get', statefulsets));
  });
});

describe('rulesFor', () => {
  it('makes one rule for each resource, with sorted verbs', () => {
    assert.deepEqual(
      rulesFor([
        may(['list', 'watch'], jobs),
        may('update', jobs, 'status'),
        may(['get', 'delete', 'list'], jobs),
        mayRecordEvents,
      ]),
      [
        { verbs: ['delete', 'get', 'list', 'watch'], apiGroups: ['batch'], resources: ['jobs'] },
        { verbs: ['update'], apiGroups: ['batch'], resources: ['jobs/status'] },
        { verbs: ['create', 'patch'], apiGroups: ['', 'events.k8s.io'], resources: ['events'] },
      ],
    );
  });

  it('keeps names, and says nothing twice that a wider rule allows', () => {
    const signers = { group: 'certificates.k8s.io', resource: 'signers' };
    assert.deepEqual(
      rulesFor([
        may(['list', 'watch'], pods),
        may(['list', 'watch'], jobs),
        { ...may('sign', signers), names: ['a', 'b'] },
        { ...may('approve', signers), names: ['a'] },
        may(['list', 'get'], anything),
        may(['watch'], jobs),
      ]),
      [
        { verbs: ['watch'], apiGroups: [''], resources: ['pods'] },
        { verbs: ['watch'], apiGroups: ['batch'], resources: ['jobs'] },
        {
          verbs: ['sign'],
          apiGroups: ['certificates.k8s.io'],
          resources: ['signers'],
          resourceNames: ['a', 'b'],
        },
        {
          verbs: ['approve'],
          apiGroups: ['certificates.k8s.io'],
          resources: ['signers'],
          resourceNames: ['a'],
        },
        { verbs: ['get', 'list'], apiGroups: ['*'], resources: ['*'] },
      ],
    );
  });
});
