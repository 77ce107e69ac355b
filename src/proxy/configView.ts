// The settled configuration as a KubeProxyConfiguration, for /configz. Pure.
// Guarantees: kube-proxy's field names; read back as a file it gives the same configuration.
import { formatGoDuration } from '../base/goDuration.js';
import { API_VERSION, KIND, type ProxyConfig } from './config.js';

export function configView(config: ProxyConfig): object {
  const periods = {
    syncPeriod: formatGoDuration(config.syncPeriodMs),
    minSyncPeriod: formatGoDuration(config.minSyncPeriodMs),
  };
  const masquerade = { masqueradeAll: config.masqueradeAll, masqueradeBit: config.masqueradeBit };
  return {
    apiVersion: API_VERSION,
    kind: KIND,
    bindAddress: config.bindAddress,
    bindAddressHardFail: config.bindAddressHardFail,
    ...(config.oomScoreAdj === undefined ? {} : { oomScoreAdj: config.oomScoreAdj }),
    clientConnection: { kubeconfig: config.kubeconfig },
    clusterCIDR: config.clusterCidrs.join(),
    conntrack: {
      maxPerCore: config.conntrackMaxPerCore,
      min: config.conntrackMin,
      tcpBeLiberal: config.conntrackTcpBeLiberal,
      tcpCloseWaitTimeout: formatGoDuration(config.conntrackTcpCloseWaitMs),
      tcpEstablishedTimeout: formatGoDuration(config.conntrackTcpEstablishedMs),
      udpStreamTimeout: formatGoDuration(config.conntrackUdpStreamMs),
      udpTimeout: formatGoDuration(config.conntrackUdpMs),
    },
    detectLocal: {
      bridgeInterface: config.bridgeInterface,
      interfaceNamePrefix: config.interfaceNamePrefix,
    },
    detectLocalMode: config.detectLocalMode,
    healthzBindAddress: config.healthzBindAddress,
    hostnameOverride: config.hostnameOverride,
    iptables: { localhostNodePorts: config.localhostNodePorts, ...masquerade, ...periods },
    ipvs: {
      excludeCIDRs: config.ipvsExcludeCidrs,
      scheduler: config.ipvsScheduler,
      strictARP: config.ipvsStrictArp,
      tcpFinTimeout: formatGoDuration(config.ipvsTcpFinMs),
      tcpTimeout: formatGoDuration(config.ipvsTcpMs),
      udpTimeout: formatGoDuration(config.ipvsUdpMs),
      ...periods,
    },
    logging: { format: config.loggingFormat, verbosity: config.logVerbosity },
    metricsBindAddress: config.metricsBindAddress,
    mode: config.mode,
    nftables: { ...masquerade, ...periods },
    nodePortAddresses: config.nodePortAddresses,
  };
}
