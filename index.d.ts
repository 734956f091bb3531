/// <reference types="node" />

import * as adapter from './types/adapter';
import * as client from './types/client';
import * as deflate from './types/deflate';
import * as events from './types/events';
import * as presence from './types/presence';
import * as running from './types/running';
import * as sending from './types/sending';
import * as server from './types/server';
import * as tls from './types/tls';
import * as tools from './types/tools';
import * as topics from './types/topics';
import * as verify from './types/verify';
import * as websocket from './types/websocket';

// The value of `require('reactor-ws')`: the class, which carries the other names. It extends
// `websocket.WebSocket` and is not the same declaration, because a namespace that contains itself
// makes the compiler recurse. Members that `declare module` adds to `WebSocket` are inherited.
// Either class can be used where the other one is wanted: both carry the same values.
declare class WebSocket extends websocket.WebSocket {}

declare namespace WebSocket {
  export import Adapter = adapter.Adapter;
  export import AdapterEvent = adapter.AdapterEvent;
  export import AdapterMetrics = adapter.AdapterMetrics;
  export import AdapterNode = adapter.AdapterNode;
  export import AdapterPage = adapter.AdapterPage;
  export import AdapterState = adapter.AdapterState;
  export import AddressInfo = server.AddressInfo;
  export import BinaryType = events.BinaryType;
  export import BroadcastOptions = topics.BroadcastOptions;
  export import BufferLike = sending.BufferLike;
  export import CertMeta = client.CertMeta;
  export import ClientOptions = client.ClientOptions;
  export import CloseCause = events.CloseCause;
  export import CloseEvent = events.CloseEvent;
  export import ControlCallback = sending.ControlCallback;
  export import Data = events.Data;
  export import DeflateOptions = tools.DeflateOptions;
  export import DrainOptions = running.DrainOptions;
  export import DrainProgress = running.DrainProgress;
  export import EncryptedKey = tls.EncryptedKey;
  export import EnterOptions = presence.EnterOptions;
  export import ErrorEvent = events.ErrorEvent;
  export import Event = events.Event;
  export import EventListenerOptions = events.EventListenerOptions;
  export import FinishRequestCallback = client.FinishRequestCallback;
  export import FrameOptions = tools.FrameOptions;
  export import GivenOptions = server.GivenOptions;
  export import Histogram = running.Histogram;
  export import History = topics.History;
  export import HistoryOptions = topics.HistoryOptions;
  export import HistorySettings = adapter.HistorySettings;
  export import Listener = server.Listener;
  export import MessageEvent = events.MessageEvent;
  export import Metrics = running.Metrics;
  export import OriginRule = running.OriginRule;
  export import Pem = tls.Pem;
  export import PerMessageDeflateOptions = deflate.ServerOptions;
  export import PortOptions = server.PortOptions;
  export import Position = topics.Position;
  export import Presence = presence.Presence;
  export import PresenceChange = presence.PresenceChange;
  export import PresenceEntry = presence.PresenceEntry;
  export import PresenceMessage = presence.PresenceMessage;
  export import ProxyProtocol = running.ProxyProtocol;
  export import Published = topics.Published;
  export import PublishOptions = topics.PublishOptions;
  export import PublishSettings = adapter.PublishSettings;
  export import RawData = events.RawData;
  export import ReactorMetrics = running.ReactorMetrics;
  export import Receipt = topics.Receipt;
  export import ReplayedRequest = server.ReplayedRequest;
  export import SecureContext = tls.SecureContext;
  export import SecureContextOptions = tls.SecureContextOptions;
  export import SendCallback = sending.SendCallback;
  export import SendOptions = sending.SendOptions;
  export import ServerOptions = server.ServerOptions;
  export import Subscribed = topics.Subscribed;
  export import SubscribeOptions = topics.SubscribeOptions;
  export import TlsMetrics = running.TlsMetrics;
  export import TlsOptions = tls.TlsOptions;
  export import TopicOptions = topics.TopicOptions;
  export import TopicsProtocolOptions = topics.TopicsProtocolOptions;
  export import TrafficOptions = running.TrafficOptions;
  export import VerifyClientCallbackAsync = verify.VerifyClientCallbackAsync;
  export import VerifyClientCallbackSync = verify.VerifyClientCallbackSync;
  export import VerifyInfo = verify.VerifyInfo;
  export import Waiting = running.Waiting;
  export import WebSocketEventMap = events.WebSocketEventMap;

  export import PerMessageDeflate = tools.PerMessageDeflate;
  export import Receiver = tools.Receiver;
  export import Sender = tools.Sender;
  /** The same class as `WebSocketServer`. */
  export import Server = server.WebSocketServer;
  export import WebSocket = websocket.WebSocket;
  export import WebSocketServer = server.WebSocketServer;
  export import createWebSocketStream = tools.createWebSocketStream;
  export import emitUpgrades = server.emitUpgrades;
  export import extension = tools.extension;
  export import listen = server.listen;
  export import subprotocol = tools.subprotocol;
}

export = WebSocket;
