// Which plugins run is a function of two lists of names.
import { expect, test } from 'vitest';
import { chosenPlugins } from '../../../../src/apiserver/admission/choice.js';

test('the defaults are Kubernetes’, but for webhooks and policies', () => {
  expect(chosenPlugins({}).toSorted()).toEqual([
    'CertificateApproval',
    'CertificateSigning',
    'CertificateSubjectRestriction',
    'ClusterTrustBundleAttest',
    'DefaultIngressClass',
    'DefaultStorageClass',
    'DefaultTolerationSeconds',
    'JobValidation',
    'LimitRanger',
    'NamespaceLifecycle',
    'NodeDeclaredFeatureValidator',
    'NodeRestriction',
    'PersistentVolumeClaimResize',
    'PodGroupProtection',
    'PodGroupWorkloadExists',
    'PodResizeValidator',
    'PodSecurity',
    'PodTopologyLabels',
    'Priority',
    'ResourceQuota',
    'RuntimeClass',
    'ServiceAccount',
    'StorageObjectInUseProtection',
    'TaintNodesByCondition',
  ]);
});
test('flags add and take away, and the order stays', () => {
  const names = chosenPlugins({ enable: ['AlwaysPullImages'], disable: ['PodSecurity', 'LimitRanger'] });
  expect(names.slice(0, 2)).toEqual(['NamespaceLifecycle', 'ServiceAccount']);
  expect(names.indexOf('AlwaysPullImages')).toBe(names.indexOf('TaintNodesByCondition') + 1);
  expect(names).not.toContain('PodSecurity');
  expect(names.at(-1)).toBe('ResourceQuota');
});
test.each([
  ['unknown', { enable: ['PodSecurityPolicy'] }, /no admission plugin is called PodSecurityPolicy/],
  ['unknown to disable', { disable: ['nope'] }, /no admission plugin is called nope/],
  ['named in both', { enable: ['Priority'], disable: ['Priority'] }, /overlapped/],
])('refuses a name that is %s', (_, choice, message) => {
  expect(() => chosenPlugins(choice)).toThrow(message);
});
