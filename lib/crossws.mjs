// The adapter of crossws for Node on a server of this package. A topic of crossws in a namespace is a topic of ours, so
// that a publish is one call, however many peers have subscribed.

import * as crossws from 'crossws/adapters/node';

import checks from './base/checks.js';
import { WebSocketServer } from './index.mjs';

/** Undefined with crossws 0.3. */
export const { fromNodeUpgradeHandler } = crossws;

/** @type {(options?: any) => any} */
export default function wsAdapter(options = {}) {
  const wss = options.wss ?? createServer(options.serverOptions ?? {});
  if (!(wss instanceof WebSocketServer)) throw checks.wrongType('options.wss', 'a WebSocketServer of reactor-ws', wss);
  /** @type {ReturnType<typeof peerOver> | null} */
  let Peer = null;
  const hooks = Object.create(options.hooks ?? null, {
    // Called before the peer is shown to anybody.
    open: {
      value(/** @type {any} */ peer) {
        Peer ??= peerOver(peer.constructor);
        Object.setPrototypeOf(peer, Peer.prototype);
        return options.hooks?.open?.(peer);
      },
    },
    close: {
      value(/** @type {any} */ peer, /** @type {unknown} */ details) {
        const { peers } = adapter;
        // A namespace is a path by default: peers could fill the memory with empty ones.
        if (peers instanceof Map && peers.get(peer.namespace)?.size === 0) peers.delete(peer.namespace);
        return options.hooks?.close?.(peer, details);
      },
    },
  });
  const adapter = crossws.default({ ...options, hooks, wss });
  // crossws 0.3 has no namespaces, and leaves the subprotocol to the server.
  if (wss !== options.wss && adapter.peers instanceof Map) wss.options.handleProtocols ??= () => false;

  /** @type {(topic: string, value: unknown, given?: { compress?: boolean, namespace?: string }) => void} */
  function publish(topic, value, given) {
    const message = Peer === null || adapter.sync ? null : Peer.draft(value, given);
    // Crossws publishes it itself: to other processes, too, or to none, or after it has read a Blob.
    if (message === null) return adapter.publish(topic, value, given);
    const namespaces = given?.namespace ? [given.namespace] : adapter.peers instanceof Map ? adapter.peers.keys() : [''];
    for (const namespace of namespaces) wss.publish(keyOf(namespace, topic), message.data, message.options);
  }

  return { ...adapter, publish };
}

/** @param {any} given `serverOptions` of crossws, with the options of our servers */
function createServer(given) {
  const { topicOptions } = given;
  if (typeof topicOptions !== 'function') return new WebSocketServer({ noServer: true, ...given });
  return new WebSocketServer({ noServer: true, ...given, topicOptions: (/** @type {string} */ key) => topicOptions(...partsOf(key)) });
}

/**
 * Over the class of peers that this crossws has. Where it calls one of these methods something else one day, its own
 * loop over the peers goes on to work.
 *
 * @param {any} NodePeer
 */
function peerOver(NodePeer) {
  class ReactorPeer extends NodePeer {
    /** @param {string} topic */
    subscribe(topic) {
      super.subscribe(topic);
      this._internal.ws.subscribe(keyOf(this.namespace, topic));
    }

    /** @param {string} topic */
    unsubscribe(topic) {
      super.unsubscribe(topic);
      this._internal.ws.unsubscribe(keyOf(this.namespace, topic));
    }

    /** @type {(topic: string, value: unknown, given?: object) => void} */
    _publish(topic, value, given) {
      const message = ReactorPeer.draft(value, given);
      if (message === null) super[METHOD](topic, value, given);
      else this._internal.ws.publish(keyOf(this.namespace, topic), message.data, message.options);
    }

    /** What crossws would send: text or bytes of any value, and with which options. Null if only a loop can. @type {(value: unknown, given?: object) => { data: any, options: object } | null} */
    static draft(value, given) {
      let message = null;
      const ws = {
        send(/** @type {any} */ data, /** @type {any} */ { binary, compress }) {
          if (!(data instanceof Blob)) message = { data, options: { binary, compress } };
        },
      };
      NodePeer.prototype.send.call({ _internal: { ws } }, value, given);
      return message;
    }
  }
  const METHOD = '_publish' in NodePeer.prototype ? '_publish' : 'publish';
  // In crossws 0.3, nothing but the adapter's own publish is in between.
  if (METHOD === 'publish') ReactorPeer.prototype.publish = ReactorPeer.prototype._publish;
  return ReactorPeer;
}

/** A key that is unique to this namespace and topic. @type {(namespace: string | undefined, topic: string) => string} */
function keyOf(namespace = '', topic) {
  return `${namespace.length}:${namespace}${topic}`;
}

/** @type {(key: string) => [topic: string, namespace: string]} */
function partsOf(key) {
  const start = key.indexOf(':') + 1;
  const end = start + Number(key.slice(0, start - 1));
  return [key.slice(end), key.slice(start, end)];
}
